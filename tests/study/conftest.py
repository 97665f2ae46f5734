"""Studies are tested on the sample run of tests/runs and on the marked kernels of tests/forge."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("runs", "forge"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
