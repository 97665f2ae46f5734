"""What Triton compiles: jit functions, the values in them, their loops, and what is certainly compiled."""
