"""What `kernel.warmup(...)` returns in the interpreter: launchable, with numbers for occupancy arithmetic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class WarmedKernel:
    """Stands in for a compiled kernel; `self[grid](...)` runs the interpreter."""

    def __init__(self, name: str, run: Callable[..., Any], options: dict[str, Any]) -> None:
        self._run = run
        self.name = name
        self.n_regs, self.n_spills, self.n_max_threads = 32, 0, 1024
        self.asm: dict[str, str] = defaultdict(str)
        defaults = {"shared": 1024, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "name": name}
        self.metadata = SimpleNamespace(**defaults | options)

    def _init_handles(self) -> None:
        """Tutorials call it before they read n_regs."""

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._run(args, kwargs, grid)
