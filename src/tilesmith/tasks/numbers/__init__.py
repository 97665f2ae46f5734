"""Numbers that a forward pass computes from sizes."""
