"""Kernel source made fit for Python: rewritten so that it means what Triton means."""
