"""The right answer and the distance to it: float64 truth, draws, comparison, known cheats."""
