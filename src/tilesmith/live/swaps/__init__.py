"""Guarded kernels in the place of a module's forward."""
