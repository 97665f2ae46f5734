"""How far outputs are from float64 truth. Runs only in the process that never loaded a candidate.

All sums run over chunks, so that comparing a tensor of gigabytes needs little memory beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from tilesmith.worker.arg_reductions import ArgReduction, same_choice
from tilesmith.worker.exchange import Flat

_CHUNK = 1 << 24
_WORST = 3
_ASSUMED_ULPS = 64


def layout_problem(candidate: Flat, eager: Flat) -> str | None:
    """Why the outputs are not even of the right form, or None."""
    if candidate.layout != eager.layout:
        return f"returned {_form(candidate.layout)}, expected {_form(eager.layout)}"
    if len(candidate.tensors) != len(eager.tensors):
        return f"returned {len(candidate.tensors)} tensors, expected {len(eager.tensors)}"
    for position, (got, want) in enumerate(zip(candidate.tensors, eager.tensors, strict=True)):
        if got.shape != want.shape:
            return f"output {position} has shape {tuple(got.shape)}, expected {tuple(want.shape)}"
        if got.dtype != want.dtype:
            return f"output {position} has dtype {_name(got.dtype)}, expected {_name(want.dtype)}"
    return None


def measure(
    candidate: torch.Tensor, truth: torch.Tensor, eager: torch.Tensor, picks: ArgReduction | None = None
) -> dict[str, Any]:
    """Statistics of one output, as plain numbers; the judge decides what they mean."""
    if eager.is_complex():
        candidate, truth, eager = (torch.view_as_real(t.resolve_conj()) for t in (candidate, truth, eager))
    if not eager.is_floating_point():
        return _measure_exact(candidate, eager, picks)
    return _measure_floats(candidate, truth, eager)


def without_truth(stats: dict[str, Any]) -> dict[str, Any]:
    """Where PyTorch's own result stands in for truth, its error is unknown: allow what a long sum may lose."""
    if stats["kind"] != "float":
        return stats
    assumed = _ASSUMED_ULPS * torch.finfo(getattr(torch, stats["dtype"])).eps
    return stats | {"eager_relative": assumed, "eager_max_relative": assumed, "effective": 1e9}


def same_to_rounding(first: Flat, second: Flat) -> bool:
    """Two runs of one kernel agree when only the order of additions can explain the difference."""
    if layout_problem(first, second):
        return False
    return all(_close(a, b) for a, b in zip(first.tensors, second.tensors, strict=True))


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.is_complex():
        a, b = (torch.view_as_real(t.resolve_conj()) for t in (a, b))
    if not a.is_floating_point():
        return torch.equal(a, b)
    if not bool(((a.isfinite() & b.isfinite()) | _same_nonfinite(a, b)).all()):
        return False
    wide_a, wide_b = a.double().nan_to_num(0, 0, 0), b.double().nan_to_num(0, 0, 0)
    scale = max(float(wide_a.abs().max()), float(wide_b.abs().max())) if a.numel() else 0.0
    return not a.numel() or float((wide_a - wide_b).abs().max()) <= 64 * torch.finfo(a.dtype).eps * scale


def _measure_exact(candidate: torch.Tensor, eager: torch.Tensor, picks: ArgReduction | None) -> dict[str, Any]:
    wrong = candidate != eager
    if picks is not None and bool(wrong.any()):
        wrong = wrong & ~same_choice(picks, candidate, eager)
    count = int(wrong.sum())
    places = wrong.flatten().nonzero().flatten()[:_WORST].tolist() if count else []
    worst = [_place(candidate, eager, place) for place in places]
    return {
        "kind": "exact",
        "dtype": _name(eager.dtype),
        "numel": eager.numel(),
        "mismatches": count,
        "worst": worst,
    }


def _measure_floats(candidate: torch.Tensor, truth: torch.Tensor, eager: torch.Tensor) -> dict[str, Any]:
    sums = dict.fromkeys(("truth2", "error2", "error1", "eager2", "eager4"), 0.0)
    peaks = dict.fromkeys(("truth", "error", "eager"), 0.0)
    nonfinite: list[int] = []
    misplaced = finite_count = 0
    worst: list[tuple[float, int]] = []
    for start, c, t, e in _chunks(candidate, truth, eager):
        allowed = e.isfinite() & t.isfinite()
        excused = _same_nonfinite(c, e) | _same_nonfinite(c, t)
        bad = torch.where(allowed, ~c.isfinite(), ~excused)
        misplaced += int(bad.sum())
        nonfinite += (bad.nonzero().flatten()[:_WORST] + start).tolist()
        good = allowed & c.isfinite()
        zero = torch.zeros((), dtype=torch.float64, device=c.device)
        truth_part = torch.where(allowed, t, zero)
        error = torch.where(good, c - t, zero).abs()
        eager_error = torch.where(allowed, e - t, zero).abs()
        finite_count += int(good.sum())
        sums["truth2"] += float(truth_part.square().sum())
        sums["error2"] += float(error.square().sum())
        sums["error1"] += float(error.sum())
        sums["eager2"] += float(eager_error.square().sum())
        sums["eager4"] += float(eager_error.square().square().sum())
        for key, part in (("truth", truth_part.abs()), ("error", error), ("eager", eager_error)):
            peaks[key] = max(peaks[key], float(part.max()))
        top = error.topk(min(_WORST, error.numel()))
        worst += zip(top.values.tolist(), (top.indices + start).tolist(), strict=True)
    places = nonfinite[:_WORST] or [place for size, place in sorted(worst, reverse=True)[:_WORST] if size > 0]
    return {
        "kind": "float",
        "dtype": _name(eager.dtype),
        "numel": eager.numel(),
        "misplaced": misplaced,
        "relative": _share(math.sqrt(sums["error2"]), math.sqrt(sums["truth2"])),
        "max_relative": _share(peaks["error"], peaks["truth"]),
        "eager_relative": _share(math.sqrt(sums["eager2"]), math.sqrt(sums["truth2"])),
        "eager_max_relative": _share(peaks["eager"], peaks["truth"]),
        "max_abs": peaks["error"],
        "mean_abs": sums["error1"] / max(finite_count, 1),
        "effective": sums["eager2"] ** 2 / sums["eager4"] if sums["eager4"] else 0.0,
        "worst": [_place(candidate, truth, place) for place in places],
    }


def _chunks(*tensors: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, torch.Tensor, torch.Tensor]]:
    flat = [tensor.reshape(-1) for tensor in tensors]
    for start in range(0, flat[0].numel(), _CHUNK):
        c, t, e = (part[start : start + _CHUNK].double() for part in flat)
        yield start, c, t, e


def _same_nonfinite(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.isnan() & b.isnan()) | (a.isinf() & (a == b))


def _share(part: float, whole: float) -> float:
    """part / whole where nothing of nothing is nothing, and something of nothing is beyond any bound."""
    if part == 0:
        return 0.0
    return part / max(whole, 1e-30)


def _place(candidate: torch.Tensor, expected: torch.Tensor, flat_index: int) -> dict[str, Any]:
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat_index), expected.shape)]
    return {
        "index": index,
        "expected": str(expected.reshape(-1)[flat_index].item()),
        "got": str(candidate.reshape(-1)[flat_index].item()),
    }


def _form(layout: Any) -> str:
    if layout == "tensor":
        return "a tensor"
    if isinstance(layout, list):
        return f"{len(layout)} outputs"
    if isinstance(layout, dict) and set(layout) == {"value"}:
        return f"the value {layout['value']!r}"
    if isinstance(layout, dict):
        return f"a dictionary with keys {', '.join(layout)}"
    return repr(layout)[:80]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
