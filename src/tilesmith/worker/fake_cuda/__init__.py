"""A CUDA device that is not there: code written for a GPU runs on the CPU and cannot tell."""
