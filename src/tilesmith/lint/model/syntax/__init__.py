"""The syntax tree of a file, numbered, and what its names are bound to."""
