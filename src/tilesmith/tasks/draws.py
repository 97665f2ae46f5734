"""The draws a candidate is checked on, by name, and who asks for which; `worker/truth/draws.py` makes them."""

from __future__ import annotations

DRAWS = ("own", "own again", "scaled", "wild", "shifted", "sparse", "large")
"""The usual ones, in order of how much they tell; a caller short of time takes the first few."""
EXTRA_DRAWS = ("tiny", "offset", "spread", "peaked", "heavy")
"""Stronger ones, far from what anybody feeds a model: for tasks whose usual draws let a known cheat through."""
CORNERS_DRAW = "corners"
"""The task's own inputs at both ends of every tensor, and others between: who remembers answers by a few elements
takes them for the same."""
ALL_DRAWS = DRAWS + EXTRA_DRAWS

FEW_DRAWS = ("own", "wild")
"""For tasks so large that every draw takes seconds; their smaller shapes see all of them."""
REPLAY_DRAWS = ("own", "wild", "large")
"""On which a call is replayed without its launches."""
WATCHED_DRAWS = ("own again", "scaled", "wild")
"""On which it is looked at what torch had made without a kernel; not the first, when sizes are unknown."""
FARTHER_DRAWS = ("large", "heavy")
"""On which a suspect kernel is looked at once more."""
