"""Tasks as text and numbers: reading, shrinking and the roofline. Nothing here imports torch."""
