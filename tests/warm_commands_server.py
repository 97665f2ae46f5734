"""What the processes of `warm_commands` have when they begin: the command line, and fork servers to use."""

from __future__ import annotations

import atexit

from lent_judges import lend_for_good

import tilesmith.cli.main  # noqa: F401 - imported once for all

atexit.register(lend_for_good().close)
