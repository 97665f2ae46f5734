"""Runs side by side: the facts of each, two of them compared, all of them as a table."""
