"""The operator workshop: a definition becomes a kernel, its reference and its tests, files with one interface."""
