"""How far outputs are from float64 truth. Runs only in the process that never loaded a candidate.

All sums run over chunks, so that comparing a tensor of gigabytes needs little memory beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from tilesmith.process.protocol.comparison import (
    ExactStatistics,
    FloatStatistics,
    OutputStatistics,
    WorstElement,
)
from tilesmith.worker.tensors.exchange import PLAIN, FlatOutputs
from tilesmith.worker.truth.arg_reductions import ArgReduction, same_choice

_CHUNK = 1 << 24
_WORST = 3
_ASSUMED_ULPS = 64
_COUNTED = 1 << 14
"""Of so many elements at the most, different ones are counted: rows of an expanded input are all the same."""


def layout_problem(candidate: FlatOutputs, eager: FlatOutputs) -> str | None:
    """Why the outputs are not even of the right form, or None; says which key, field or position is wrong."""
    different = _difference(candidate.layout, eager.layout, "")
    if different:
        return different
    if len(candidate.tensors) != len(eager.tensors):
        return f"returned {len(candidate.tensors)} tensors, expected {len(eager.tensors)}"
    for name, got, want in zip(output_names(eager), candidate.tensors, eager.tensors, strict=True):
        place = f"output {name}"
        if got.shape != want.shape:
            return f"{place} has shape {tuple(got.shape)}, expected {tuple(want.shape)}"
        if got.dtype != want.dtype:
            return f"{place} has dtype {_name(got.dtype)}, expected {_name(want.dtype)}"
    return None


def _difference(got: Any, want: Any, place: str) -> str | None:
    """The first place where two layouts differ."""
    if got == want:
        return None
    got_inside, want_inside = _inside(got), _inside(want)
    if type(got) is type(want) and got_inside.keys() == want_inside.keys() != set():
        below = (_difference(got_inside[key], want_inside[key], _joined(place, key)) for key in want_inside)
        return next(filter(None, below))
    where = f" as output {place}" if place else ""
    return f"returned {_form(got)}{where}, expected {_form(want)}"


def output_names(outputs: FlatOutputs) -> list[str]:
    """Of every tensor: the keys and positions that lead to it."""
    return [place or "0" for place in _places(outputs.layout, "")]


def _places(layout: Any, place: str) -> Iterator[str]:
    if layout == "tensor":
        yield place
    for key, item in _inside(layout).items():
        yield from _places(item, _joined(place, key))


def _inside(layout: Any) -> dict[Any, Any]:
    """What a container holds, by key or position."""
    if isinstance(layout, dict) and set(layout) != {PLAIN}:
        return layout
    return dict(enumerate(layout)) if isinstance(layout, list) else {}


def _joined(place: str, key: str | int) -> str:
    return f"{place}[{key!r}]" if place else repr(key)


def measure(
    candidate: torch.Tensor, truth: torch.Tensor, eager: torch.Tensor, picks: ArgReduction | None = None
) -> OutputStatistics:
    """Statistics of one output, as plain numbers; the judge decides what they mean."""
    if eager.is_complex():
        candidate, truth, eager = (torch.view_as_real(t.resolve_conj()) for t in (candidate, truth, eager))
    if not eager.is_floating_point():
        return _measure_exact(candidate, eager, picks)
    return _measure_floats(candidate, truth, eager)


def without_truth(stats: OutputStatistics) -> OutputStatistics:
    """Where PyTorch's own result stands in for truth, its error is unknown: allow what a long sum may lose."""
    if isinstance(stats, ExactStatistics):
        return stats
    assumed = _ASSUMED_ULPS * torch.finfo(getattr(torch, stats.dtype)).eps
    return replace(stats, eager_relative=assumed, eager_max_relative=assumed, effective=1e9)


def same_to_rounding(first: FlatOutputs, second: FlatOutputs) -> bool:
    """Two runs of one kernel agree when only the order of additions can explain the difference."""
    if layout_problem(first, second):
        return False
    return all(_close(a, b) for a, b in zip(first.tensors, second.tensors, strict=True))


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.is_complex():
        a, b = (torch.view_as_real(t.resolve_conj()) for t in (a, b))
    if not a.is_floating_point():
        return torch.equal(a, b)
    scale = apart = 0.0
    for _, x, y in _chunks(a, b):
        if not bool(((x.isfinite() & y.isfinite()) | _same_nonfinite(x, y)).all()):
            return False
        x, y = x.nan_to_num(0, 0, 0), y.nan_to_num(0, 0, 0)
        scale = max(scale, float(x.abs().max()), float(y.abs().max()))
        apart = max(apart, float((x - y).abs().max()))
    return apart <= 64 * torch.finfo(a.dtype).eps * scale


def _measure_exact(candidate: torch.Tensor, eager: torch.Tensor, picks: ArgReduction | None) -> ExactStatistics:
    wrong = candidate != eager
    if picks is not None and bool(wrong.any()):
        wrong = wrong & ~same_choice(picks, candidate, eager)
    count = int(wrong.sum())
    places = wrong.flatten().nonzero().flatten()[:_WORST].tolist() if count else []
    worst = tuple(_place(candidate, eager, place) for place in places)
    return ExactStatistics("exact", _name(eager.dtype), eager.numel(), count, worst)


def _measure_floats(candidate: torch.Tensor, truth: torch.Tensor, eager: torch.Tensor) -> FloatStatistics:
    tally = _Tally()
    for start, c, t, e in _chunks(candidate, truth, eager):
        tally.add(start, c, t, e)
    norm = math.sqrt(tally.truth2)
    effective = tally.eager2**2 / tally.eager4 if tally.eager4 else 0.0
    distinct = max(one.double().unique().numel() for one in (truth, eager)) if truth.numel() <= _COUNTED else None
    return FloatStatistics(
        kind="float",
        dtype=_name(eager.dtype),
        numel=eager.numel(),
        misplaced=tally.misplaced,
        relative=_share(math.sqrt(tally.error2), norm),
        max_relative=_share(tally.error_peak, tally.truth_peak),
        eager_relative=_share(math.sqrt(tally.eager2), norm),
        eager_max_relative=_share(tally.eager_peak, tally.truth_peak),
        max_abs=tally.error_peak,
        mean_abs=tally.error1 / max(tally.compared, 1),
        effective=min(effective, distinct or effective),
        worst=tuple(_place(candidate, truth, place) for place in tally.worst_places()),
        distinct=distinct,
    )


@dataclass
class _Tally:
    """Sums of powers, largest elements and places, over the chunks of one output."""

    truth2: float = 0.0
    error1: float = 0.0
    error2: float = 0.0
    eager2: float = 0.0
    eager4: float = 0.0
    truth_peak: float = 0.0
    error_peak: float = 0.0
    eager_peak: float = 0.0
    misplaced: int = 0
    compared: int = 0
    misplaced_at: list[int] = field(default_factory=list)
    largest: list[tuple[float, int]] = field(default_factory=list)

    def add(self, start: int, candidate: torch.Tensor, truth: torch.Tensor, eager: torch.Tensor) -> None:
        finite = eager.isfinite() & truth.isfinite()
        excused = _same_nonfinite(candidate, eager) | _same_nonfinite(candidate, truth)
        bad = torch.where(finite, ~candidate.isfinite(), ~excused)
        self.misplaced += int(bad.sum())
        self.misplaced_at += (bad.nonzero().flatten()[:_WORST] + start).tolist()
        compared = finite & candidate.isfinite()
        self.compared += int(compared.sum())
        nothing = torch.zeros((), dtype=torch.float64, device=candidate.device)
        self._add_error(start, torch.where(compared, candidate - truth, nothing).abs())
        self._add_yardstick(torch.where(finite, truth, nothing), torch.where(finite, eager - truth, nothing).abs())

    def _add_error(self, start: int, error: torch.Tensor) -> None:
        self.error1 += float(error.sum())
        self.error2 += float(error.square().sum())
        self.error_peak = max(self.error_peak, float(error.max()))
        top = error.topk(min(_WORST, error.numel()))
        self.largest += zip(top.values.tolist(), (top.indices + start).tolist(), strict=True)

    def _add_yardstick(self, truth: torch.Tensor, eager_error: torch.Tensor) -> None:
        squared = eager_error.square()
        self.truth2 += float(truth.square().sum())
        self.eager2 += float(squared.sum())
        self.eager4 += float(squared.square().sum())
        self.truth_peak = max(self.truth_peak, float(truth.abs().max()))
        self.eager_peak = max(self.eager_peak, float(eager_error.max()))

    def worst_places(self) -> list[int]:
        by_size = [place for size, place in sorted(self.largest, reverse=True) if size > 0]
        return (self.misplaced_at or by_size)[:_WORST]


def _chunks(*tensors: torch.Tensor) -> Iterator[tuple[Any, ...]]:
    """Where a stretch of all of them begins, and the stretch of each in float64."""
    flat = [tensor.reshape(-1) for tensor in tensors]
    device = flat[0].device
    for start in range(0, flat[0].numel(), _CHUNK):
        yield (start, *(part[start : start + _CHUNK].to(device).double() for part in flat))


def relative_distance(output: torch.Tensor, truth: torch.Tensor) -> float:
    """Of two tensors of one shape, as a share of the truth's norm; NaN where either has one."""
    apart = size = 0.0
    for _, x, y in _chunks(output, truth):
        apart += float((x - y).square().sum())
        size += float(y.square().sum())
    return math.sqrt(apart) / max(math.sqrt(size), 1e-300)


def _same_nonfinite(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.isnan() & b.isnan()) | (a.isinf() & (a == b))


def _share(part: float, whole: float) -> float:
    """part / whole where nothing of nothing is nothing, and something of nothing is beyond any bound."""
    if part == 0:
        return 0.0
    return part / max(whole, 1e-30)


def _place(candidate: torch.Tensor, expected: torch.Tensor, flat_index: int) -> WorstElement:
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat_index), expected.shape))
    is_double = candidate.dtype == torch.float64
    values = (tensor.reshape(-1)[flat_index].item() for tensor in (expected, candidate))
    return WorstElement(index, *(str(value) if is_double else _short(value) for value in values))


def _short(value: complex) -> str:
    """Nine digits tell any two numbers of single precision apart."""
    told = str(value)
    return f"{value:.9g}" if isinstance(value, float) and len(told) > 10 else told


def _form(layout: Any) -> str:
    if layout == "tensor":
        return "a tensor"
    if isinstance(layout, list):
        return f"{len(layout)} outputs"
    if isinstance(layout, dict) and set(layout) == {PLAIN}:
        return f"the value {layout[PLAIN]!r}"
    if isinstance(layout, dict):
        return f"a dictionary with keys {', '.join(layout)}"
    return repr(layout)[:80]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
