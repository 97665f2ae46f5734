"""What each child process does: one module per role, each with `serve(channel)`."""
