"""Analyses of what code is (a recurrence, a sliding window, a launch without effect), not what it is called."""
