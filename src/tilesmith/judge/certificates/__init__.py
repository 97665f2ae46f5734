"""Certificates: known cheats run through the judge before any candidate is."""
