"""tilesmith turns PyTorch modules into Triton kernels that are as accurate and faster, and proves it.

Importing it costs nothing: every function below is found when it is first used, and brings torch if it needs it.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Config": "tilesmith.live.optimization_settings",
    "capture": "tilesmith.live.capturing",
    "check": "tilesmith.live.single_modules",
    "forge": "tilesmith.live.single_modules",
    "lint": "tilesmith.live.single_modules",
    "load_": "tilesmith.live.loading",
    "optimize": "tilesmith.live.optimizing",
    "optimize_": "tilesmith.live.optimizing",
    "scan": "tilesmith.live.scanning",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tilesmith' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


class _LazyPackage(ModuleType):
    """`tilesmith.forge` and `tilesmith.lint` are functions, and packages of ours have the same names."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _LazyPackage
