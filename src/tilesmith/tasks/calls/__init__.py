"""Calls of `forward`: their arguments as records, and the tests of a guard as text. No torch here."""
