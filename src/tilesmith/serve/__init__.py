"""Runs in a browser on this machine, while they go on: a list, the page of each, and two side by side.

It only looks, and only for whoever has the address with its token; what runs hold is shown and never run.
"""
