"""Timing on a GPU: the stopwatch, the baselines, the inputs of timed calls."""
