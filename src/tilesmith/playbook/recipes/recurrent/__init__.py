"""Recurrent layers as persistent kernels: what the layer is, how it is shared out, and the file that does it."""
