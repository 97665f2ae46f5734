"""The candidate's code in its own process: loading, running, and what its exceptions mean."""
