"""One open judge for each configuration, so that only the first verdict waits for torch."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError
from tilesmith.judge import Judge

_MOST_OPEN = 2
"""Each holds two processes that have imported torch."""


@dataclass
class _OpenJudge:
    judge: Judge | None = None
    users: int = 0
    is_broken: bool = False
    opening: threading.Lock = field(default_factory=threading.Lock)


class WarmJudges:
    """Hands out judges to several threads. One that nobody uses is closed when there are too many, or when the
    machine failed under it."""

    def __init__(self, gpu: str | None = None) -> None:
        """`gpu` is the one that they all use, where there are several."""
        self._gpu = gpu
        self._lock = threading.Lock()
        self._open: dict[CheckConfig, _OpenJudge] = {}

    @contextlib.contextmanager
    def use(self, config: CheckConfig) -> Iterator[Judge]:
        with self._lock:
            entry = self._open.pop(config, None) or _OpenJudge()
            self._open[config] = entry  # most recently used last
            entry.users += 1
        try:
            with entry.opening:
                entry.judge = entry.judge or Judge(config, gpu=self._gpu)
            yield entry.judge
        except MachineError as error:
            entry.is_broken = type(error) is MachineError  # its subclasses say something about one kernel or task
            raise
        finally:
            self._leave(entry)

    def close(self) -> None:
        with self._lock:
            entries = [*self._open.values()]
            self._open.clear()
        for entry in entries:
            if entry.judge is not None:
                entry.judge.close()

    def _leave(self, entry: _OpenJudge) -> None:
        with self._lock:
            entry.users -= 1
            idle = [config for config, one in self._open.items() if not one.users]
            surplus = idle[: max(0, len(self._open) - _MOST_OPEN)]
            leaving = {*surplus, *(config for config in idle if self._open[config].is_broken)}
            closed = [self._open.pop(config).judge for config in leaving]
        for judge in closed:
            if judge is not None:
                judge.close()
