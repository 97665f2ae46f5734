"""What is raised when a candidate does what only a cheat does."""

from __future__ import annotations


class CheatingDetected(Exception):
    """The text says what it did."""
