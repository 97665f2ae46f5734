"""Operator projects from elsewhere and for elsewhere: FlagGems, torch.library, a plain package, KernelGen."""
