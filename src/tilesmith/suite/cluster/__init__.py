"""The jobs of a suite, their kernels judged on the nodes of a Ray cluster."""
