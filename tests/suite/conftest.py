"""Suites to look at; the scripted server and kernels that carry their verdict live with other tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / one) for one in ("suite", "forge", "llm", "runs")]
