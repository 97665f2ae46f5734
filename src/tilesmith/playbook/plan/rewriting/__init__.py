"""Operators written out in others that recipes know."""
