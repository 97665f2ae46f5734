"""What many runs, or one looked at closely, say about how kernels are written."""
