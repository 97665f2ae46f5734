"""Steps that are sums over operands which are no steps of the tile: products and convolutions."""
