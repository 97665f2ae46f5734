"""A forward pass cut into regions: kernels where a recipe applies, PyTorch's own operators where none does."""
