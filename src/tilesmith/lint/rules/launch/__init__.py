"""Grids, meta-parameters and outputs: what the host promises the kernel."""
