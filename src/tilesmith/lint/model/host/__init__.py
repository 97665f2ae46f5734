"""Host code: where kernels are launched, which functions can run, and which certainly do."""
