"""Python loops that launch kernels: through time, over layers, over parts of the data."""
