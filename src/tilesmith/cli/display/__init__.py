"""What people see: a verdict, a run, and a run while it runs."""
