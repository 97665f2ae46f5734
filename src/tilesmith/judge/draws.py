"""The draws a candidate is checked on, by name; `worker/draws.py` makes them."""

DRAWS = ("own", "own again", "scaled", "wild", "shifted", "sparse", "large")
"""In order of how much they tell."""
FEW_DRAWS = ("own", "wild")
"""For tasks so large that every draw takes seconds; their smaller shapes see all of them."""
EXTRA_DRAWS = ("tiny", "offset", "spread", "peaked", "heavy")
"""For tasks whose certificate says that the usual draws let a cheat through."""
