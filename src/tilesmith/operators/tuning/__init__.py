"""`op tune`: constants that are tried, chosen by shape where that pays, and remembered."""
