"""The error budget: a candidate may err about as much as PyTorch itself does, on the same inputs.

`err(candidate) <= k * err(eager) + floor`, for the norm of the error and for its largest element. k widens
where few elements carry PyTorch's error: comparing two scalars by a factor of two would be a coin toss.
Pure arithmetic on the numbers that the reference child measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilesmith.process.protocol.comparison import ExactStatistics, FloatStatistics, OutputStatistics
from tilesmith.records import OutputErrors, Verdict

_FLOORS = {"float64": 1e-12, "float32": 1e-6, "float16": 5e-4, "bfloat16": 4e-3}
"""A few units in the last place: elementary functions may differ by that without anyone being wrong."""
_COARSE_FLOOR = 6e-2
"""For eight-bit floats."""
_CONFIDENCE_Z = 3.7
"""One honest kernel in ten thousand may fall outside by chance."""
_PEAK = 4
"""The single worst element may be this many floors off: maxima scatter more than norms."""
_ROUGHLY_RIGHT = 0.02
"""Below this relative error a failure is called inaccurate, above it wrong."""


@dataclass(frozen=True)
class Judgment:
    """What the numbers of one draw mean."""

    verdict: Verdict
    message: str
    errors: OutputErrors | None


def judge_outputs(outputs: Sequence[OutputStatistics], k: float, draw: str, names: Sequence[str] = ()) -> Judgment:
    """The first output beyond its budget decides; otherwise the largest error of the draw is reported."""
    worst: OutputErrors | None = None
    for position, stats in enumerate(outputs):
        label = names[position] if len(names) == len(outputs) else str(position)
        name = f"output {label}" if len(outputs) > 1 else "the output"
        problem = _problem(stats, k)
        errors = _errors(stats)
        if problem is not None:
            verdict, text = problem
            return Judgment(verdict, f"{name} on the {draw} inputs: {text}{_listed(stats)}", errors)
        if worst is None or errors.relative > worst.relative:
            worst = errors
    return Judgment(Verdict.PASSED, "", worst)


def allowance(stats: FloatStatistics, k: float) -> tuple[float, float]:
    """How large the relative error may be: of the norm, and of the largest element."""
    effective = max(stats.effective, 1.0)
    factor = k * math.exp(_CONFIDENCE_Z / math.sqrt(effective) + 2 / effective)
    floor = _FLOORS.get(stats.dtype, _COARSE_FLOOR)
    return factor * stats.eager_relative + floor, factor * stats.eager_max_relative + _PEAK * floor


def _problem(stats: OutputStatistics, k: float) -> tuple[Verdict, str] | None:
    if isinstance(stats, ExactStatistics):
        if stats.mismatches == 0:
            return None
        return Verdict.WRONG_VALUES, f"{stats.mismatches} of {stats.numel} integers differ"
    if stats.misplaced:
        return (
            Verdict.WRONG_VALUES,
            f"{stats.misplaced} of {stats.numel} elements are wrongly NaN or infinite",
        )
    norm, peak = allowance(stats, k)
    if stats.relative <= norm and stats.max_relative <= peak:
        return None
    roughly = stats.relative <= _ROUGHLY_RIGHT and stats.max_relative <= 5 * _ROUGHLY_RIGHT
    verdict = Verdict.INACCURATE if roughly else Verdict.WRONG_VALUES
    return verdict, _numbers(stats, norm, peak)


def _numbers(stats: FloatStatistics, norm: float, peak: float) -> str:
    if stats.relative > norm:
        what, error, eager, allowed = (
            "relative error {} against float64",
            stats.relative,
            stats.eager_relative,
            norm,
        )
    else:
        what, error = "largest error is {} of the largest value", stats.max_relative
        eager, allowed = stats.eager_max_relative, peak
    less = f" ({error / eager:.2g} times less)" if eager > 0 else ""
    return f"{what.format(f'{error:.2g}')}; PyTorch has {eager:.2g}{less}, allowed is {allowed:.2g}"


def _errors(stats: OutputStatistics) -> OutputErrors:
    if isinstance(stats, ExactStatistics):
        share = stats.mismatches / max(stats.numel, 1)
        return OutputErrors(share, share, share, 0.0, None)
    eager = stats.eager_relative
    ratio = stats.relative / eager if eager > 0 else None
    return OutputErrors(stats.max_abs, stats.mean_abs, stats.relative, eager, ratio)


def _listed(stats: OutputStatistics) -> str:
    lines = [f"\n  at {w.index}: expected {w.expected}, got {w.got}" for w in stats.worst]
    return "".join(lines)
