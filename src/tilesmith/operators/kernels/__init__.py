"""The file with the kernels: what the forge wrote, made general, behind an entry that refuses what it cannot."""
