"""Three models as people write them, with random weights: what `benchmarks/live_models.py` optimizes."""
