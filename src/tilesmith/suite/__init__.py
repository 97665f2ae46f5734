"""Many tasks at once: forged, or judged where others wrote the kernels; on one machine or on a cluster."""
