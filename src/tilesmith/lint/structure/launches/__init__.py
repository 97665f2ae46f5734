"""Launches: their grids and arguments, how many there are, and which have no effect."""
