"""Tests in folders below find `corpus_files` and `kernel_sources` here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
