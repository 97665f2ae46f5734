"""What `triton.language` does to blocks of numbers, on numpy arrays."""
