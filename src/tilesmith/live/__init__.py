"""Kernels inside a model that runs: scan it, capture its modules, swap judged kernels in, and out again."""
