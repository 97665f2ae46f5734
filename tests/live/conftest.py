"""A model of the sample package, and kernels for it that mark what they return."""

from __future__ import annotations

import sys
from pathlib import Path

import torch._dynamo  # noqa: F401 - before any test pretends to have CUDA: it keeps functions as it finds them

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
