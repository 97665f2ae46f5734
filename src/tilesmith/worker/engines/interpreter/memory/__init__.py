"""The memory of an interpreted launch: extents, checked accesses, data races."""
