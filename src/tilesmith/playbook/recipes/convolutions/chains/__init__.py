"""Convolutions in a row: `link` says what one is given and gives, `chaining` and `link_launcher` write it."""
