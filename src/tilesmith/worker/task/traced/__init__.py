"""What a trace consists of, and what is traced where a whole task cannot be."""
