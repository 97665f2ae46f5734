"""How a recipe says, from anywhere below it, that a task is not for it."""

from __future__ import annotations


class Unmatched(Exception):
    """Unwinds a match; its text is the recipe's reason to decline."""
