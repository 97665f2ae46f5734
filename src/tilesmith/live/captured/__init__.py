"""Captured calls as task files."""
