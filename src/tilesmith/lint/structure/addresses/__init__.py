"""Loads and stores of device code: their addresses, pointers and what indexes them."""
