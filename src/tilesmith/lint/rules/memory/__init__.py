"""Values that are wrong at an edge, overflow, or lose precision."""
