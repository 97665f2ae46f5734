"""Compile-time sizes: autotune configs and the numbers a size can be."""
