"""Host code: where its values come from and go, what it keeps, and what it leaves to PyTorch."""
