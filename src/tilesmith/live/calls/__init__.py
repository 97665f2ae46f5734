"""Calls of modules as data, and what is needed of torch to read them."""
