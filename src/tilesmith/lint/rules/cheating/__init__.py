"""Does the candidate do its work, in its own kernels, each time it is asked?"""
