"""Understood graphs as text: expressions, kernels, the host's side and whole files. Nothing here decides."""
