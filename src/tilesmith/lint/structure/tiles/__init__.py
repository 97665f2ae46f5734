"""How sizes are cut into tiles, and what happens in the last tile and in masked lanes."""
