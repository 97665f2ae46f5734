"""The gates a kernel passes on its way to a verdict, as two tables."""
