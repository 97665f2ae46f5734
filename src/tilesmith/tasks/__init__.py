"""Tasks as text and numbers: reading and shrinking them, their draws, GPUs and rooflines. No torch here."""
