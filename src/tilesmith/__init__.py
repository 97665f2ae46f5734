"""tilesmith turns PyTorch modules into Triton kernels that are as accurate and faster, and proves it."""

__version__ = "0.1.0"
