"""What the three launch engines have in common: the GPU's, the interpreter's and the recorder's.

An engine takes the place of triton's own launch in one process, before a candidate's code is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class CallSettings:
    """How the launches of the next call are run, as far as the engine has a choice."""

    schedule: int = 0
    """The order in which the programs of a grid run; 0 is the natural one."""
    autotune_choice: int = 0
    """Which of an autotuner's configurations runs."""
    limit_s: float | None = None
    """Until a program must have come to its end, and after that the next."""
    longest_s: float | None = None
    """For the whole call; `limit_s` where there is no other."""


class DescribedLaunch(Protocol):
    """A launch as far as it can be told without the contents of memory."""

    @property
    def kernel(self) -> str: ...

    @property
    def grid(self) -> tuple[int, int, int]: ...

    @property
    def arguments(self) -> dict[str, str] | None: ...


class LaunchObserver(Protocol):
    """Sees the arguments of every launch, and that a CUDA graph was replayed."""

    def before_launch(self, arguments: Iterable[Any]) -> None: ...

    def after_launch(self, arguments: Iterable[Any]) -> None: ...

    def after_replay(self) -> None: ...


class NoObserver:
    """Looks away."""

    def before_launch(self, arguments: Iterable[Any]) -> None:
        pass

    def after_launch(self, arguments: Iterable[Any]) -> None:
        pass

    def after_replay(self) -> None:
        pass


class LaunchEngine(Protocol):
    """Runs, records or leaves out the kernel launches of a candidate."""

    observer: LaunchObserver
    autotuned: int
    """How many configurations an autotuned launch had to choose from; 0 where none did."""
    grids: set[str]
    """On a GPU: the kernels launched since a call began, each with its grid, in words."""

    def begin_call(self, settings: CallSettings) -> None:
        """Forget the launches so far; those to come follow the settings."""

    def launched(self) -> list[str]:
        """The names of the kernels launched since."""

    def described_launches(self) -> Sequence[DescribedLaunch] | None:
        """The same launches with their grids and arguments in words; None where the engine keeps names alone."""

    def muted(self) -> AbstractContextManager[None]:
        """Inside, kernels are not run."""

    def simulated_gpu(self) -> AbstractContextManager[None]:
        """Inside, code written for a GPU finds one, a real one or not."""

    def synchronize(self) -> None:
        """Wait until what was launched is done."""


@contextmanager
def observed(engine: LaunchEngine, observer: LaunchObserver) -> Iterator[None]:
    """Inside, the observer sees every launch of the engine."""
    usual, engine.observer = engine.observer, observer
    try:
        yield
    finally:
        engine.observer = usual
