"""Loops of a kernel that run through time, and the state they carry."""
