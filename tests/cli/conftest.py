"""Commands that show runs are tested on the sample run of tests/runs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "runs"))
