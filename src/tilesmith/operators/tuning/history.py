"""history.md: what was tried on an operator, as a table that only grows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilesmith.forge.tuning.search import SearchOutcome
from tilesmith.judge.trials import CompiledTrial
from tilesmith.operators.checking import OperatorCheck
from tilesmith.operators.tuning.constants import TunedFile, describe, difference
from tilesmith.operators.tuning.shape_trials import ShapeTrials
from tilesmith.records import KernelResources
from tilesmith.runs.atomic_files import write_atomically


@dataclass(frozen=True)
class HistoryRow:
    """One configuration, and what came of it."""

    configuration: str
    speedups: Mapping[str, float | None]
    """By shape; null where it was not measured."""
    mean: float | None
    """The geometric mean."""
    learned: str


def append_rows(path: Path, operator: str, title: str, rows: Sequence[HistoryRow]) -> None:
    """A table of its own for each call of `op tune`, below those that are there; none where the last one has the
    same rows."""
    if not rows:
        return
    shapes = list(dict.fromkeys(shape for row in rows for shape in row.speedups))
    head = ["configuration", *shapes, "geometric mean", "what was learned"]
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        numbers = [_number(row.speedups.get(shape)) for shape in shapes]
        lines.append(_line([row.configuration, *numbers, _number(row.mean), row.learned]))
    before = path.read_text(encoding="utf-8") if path.exists() else f"# What was tried on {operator}\n"
    table = "\n\n" + "\n".join(lines) + "\n"
    if not before.endswith(table):
        write_atomically(path.resolve(), before.rstrip("\n") + f"\n\n## {title}" + table)


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"


def list_tried(
    file: TunedFile, trials: ShapeTrials, found: SearchOutcome, before: OperatorCheck
) -> list[HistoryRow]:
    """What was compiled or timed, the file's own constants first."""
    own, known_ms = file.tuning, baseline_ms(before)
    rows: list[HistoryRow] = []
    best: float | None = None
    for tuning in dict.fromkeys([own, *found.tunings]):
        text = file.write(tuning)
        times, compiled = trials.times.get(text), trials.compiled.get(text)
        if times is None and compiled is None:
            continue
        spent = dict(zip(trials.shapes, times or (), strict=False))
        both = spent.keys() & known_ms.keys()
        speedups = {one: known_ms[one] / spent[one] if one in both else None for one in trials.shapes}
        known = [one for one in speedups.values() if one is not None]
        mean = math.exp(sum(map(math.log, known)) / len(known)) if known and len(known) == len(spent) else None
        change = "as it was" if tuning == own else difference(own, tuning)
        rows.append(HistoryRow(describe(tuning), speedups, mean, f"{change}: {_learned(compiled, mean, best)}"))
        best = max(mean, best or mean) if mean is not None else best
    return rows


def _learned(compiled: CompiledTrial | None, mean: float | None, best: float | None) -> str:
    if mean is not None and best is not None:
        return f"{mean / best:.2f} times the best before"
    if mean is not None:
        return "where it began"
    if compiled is None or compiled.problem:
        return f"not compiled: {compiled.problem if compiled else 'no time'}"
    if compiled.refused:
        return f"does not fit the GPU: {', '.join(compiled.refused)}"
    return _resources(compiled.resources)


def _resources(resources: Sequence[KernelResources]) -> str:
    spills = sum(one.spills or 0 for one in resources)
    registers = max((one.registers or 0 for one in resources), default=0)
    shared = max((one.shared_bytes or 0 for one in resources), default=0)
    return f"{spills or 'no'} spills, {registers} registers, {shared} bytes of shared memory"


def baseline_ms(check: OperatorCheck) -> dict[str, float]:
    """PyTorch's time at each shape, in the dtype that tunings are timed in."""
    calls = check.performance.calls if check.performance else ()
    wanted = timed_dtype(tuple(dict.fromkeys(one.dtype for one in calls)))
    return {one.sizes: one.baseline_ms for one in calls if one.dtype == wanted and one.baseline_ms is not None}


def timed_dtype(dtypes: Sequence[str]) -> str:
    """A half type where there is one: what tiles are scarce for."""
    return next((one for one in ("float16", "bfloat16") if one in dtypes), dtypes[0] if dtypes else "")
