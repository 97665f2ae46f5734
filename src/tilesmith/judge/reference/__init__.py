"""The references of a judge's tasks: opened once, shared by all checks."""
