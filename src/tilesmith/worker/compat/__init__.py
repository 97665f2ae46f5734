"""The one home of private names of torch and triton: every import, every patch, and a check that they are there."""
