"""A match of two kernels, and trials that know how fast each of its tunings is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilesmith.judge.trials import CompiledTrial
from tilesmith.playbook.recipe import TunedPart, Tuning, join_tunings


def tuning(**values: int) -> Tuning:
    return Tuning(tuple(values.items()))


def part(name: str, *blocks: int, near: Callable[[Tuning], tuple[Tuning, ...]] = lambda _: ()) -> TunedPart:
    """A kernel with one constant, BLOCK."""
    prefix = f"{name.upper()}_"
    choices = tuple(tuning(**{f"{prefix}BLOCK": block}) for block in blocks)
    return TunedPart(name, f"key of {name}", prefix, choices, near)


GRAPH = TunedPart("", "key of graphs", "", (Tuning(()), tuning(GRAPHS=4)), lambda _: (), is_kernel=False)
"""Another way to launch the kernels beside it."""


@dataclass(frozen=True)
class WrittenParts:
    """Its text is its tuning."""

    parts: tuple[TunedPart, ...]

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        return (join_tunings(one.choices[0] for one in self.parts),)

    def write(self, whole: Tuning) -> str:
        return str(whole)

    def variations(self, whole: Tuning, stage: str) -> tuple[Tuning, ...]:
        return ()

    def strategy(self, whole: Tuning) -> str:
        return ""

    def analysis(self) -> Any:
        raise NotImplementedError


@dataclass
class KnownTimes:
    """Trials without children: `spent` says how many ms a tuning takes, and every trial takes a second."""

    spent: Callable[[dict[str, int]], float | None]
    compiled: Callable[[dict[str, int]], CompiledTrial] = lambda _: CompiledTrial({})
    is_timed: bool = True
    pytorch_ms: float | None = None
    apart: Callable[[dict[str, int]], dict[str, float]] = lambda _: {}
    """What a tuning's kernels take, by name; nothing where the profiler does not work."""
    now: float = 0.0
    calls: list[tuple[dict[str, int], int]] = field(default_factory=list)

    def compile(self, texts: Sequence[str], limit_s: float) -> list[CompiledTrial]:
        return [self.compiled(read(text)) for text in texts]

    def time_ms(self, text: str, calls: int) -> float | None:
        self.now += 1.0
        if not text:
            return self.pytorch_ms
        self.calls.append((read(text), calls))
        return self.spent(read(text))

    def time_kernels(self, text: str, calls: int, kernels: Sequence[str]) -> dict[str, float]:
        self.now += 1.0
        self.calls.append((read(text), calls))
        return {name: spent for name, spent in self.apart(read(text)).items() if name in kernels}

    def clock(self) -> float:
        return self.now


def read(text: str) -> dict[str, int]:
    pairs = [one.split(" = ") for one in text.split(", ") if one]
    return {name: int(value) for name, value in pairs}
