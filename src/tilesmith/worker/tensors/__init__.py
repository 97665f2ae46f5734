"""Tensors on their way between processes."""
