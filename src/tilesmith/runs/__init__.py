"""Runs on disk: a folder that only grows, that a person can read, and that survives `kill -9`."""

from tilesmith.runs.folder import RunFolder, create_run
from tilesmith.runs.manifest import Manifest, Status

__all__ = ["Manifest", "RunFolder", "Status", "create_run"]
