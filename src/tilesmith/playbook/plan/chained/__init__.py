"""What passes between the kernels of convolutions: in which layout, and where it lies."""
