"""What kind of work a kernel does: attention, convolution, normalization, a copy."""
