"""The child side: the only code that imports torch and triton and the only code that loads candidates."""
