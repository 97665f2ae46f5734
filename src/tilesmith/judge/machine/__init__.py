"""What the machine has and how it is shared: devices, limits, the GPU lock, the doctor's facts."""
