"""`op tune`: change, accuracy, performance, record. Only `<op>_triton.py` changes, and the best is kept.

The search is the forge's: what spills is dropped, the rest is timed by successive halving, then come the neighbors
of the fastest. A tuning's time is the geometric mean over all shapes for performance. Without a GPU the compiler is
all that can be asked: the first constants without spills are taken.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tilesmith.config import CheckConfig
from tilesmith.errors import ProjectError, UsageError
from tilesmith.forge.tuning.search import SearchLimits, TuningSearch
from tilesmith.judge import Judge
from tilesmith.operators.checking import Judges, OperatorCheck, PerformanceResult, judge_files, open_judges
from tilesmith.operators.definition import parse_definition
from tilesmith.operators.interface import read_whole_project
from tilesmith.operators.judged_task import single_call, single_kernel, single_task
from tilesmith.operators.project import passing, read_files, set_aside, write_project
from tilesmith.operators.records import Operator, Project
from tilesmith.operators.sizes import shape_of, size_text
from tilesmith.operators.tuning.constants import (
    TunedFile,
    describe,
    read_tuning,
    with_tuning,
    without_hints,
)
from tilesmith.operators.tuning.history import HistoryRow, append_rows, baseline_ms, list_tried, timed_dtype
from tilesmith.operators.tuning.shape_choice import chooses_by_shape, with_autotune, with_dispatch
from tilesmith.operators.tuning.shape_trials import ShapeTrials, TrialsOnDemand
from tilesmith.playbook.recipe import Tuning
from tilesmith.runs.atomic_files import write_atomically

WITHOUT_GPU = "no GPU here: chosen by the compiler alone (spills, registers, shared memory), nothing was timed"
_CONFIGURATIONS = 4
"""At most so many are written for autotune."""
_COMPILED = 8
"""Without a GPU: so many are compiled, to be compared in the history."""
_PYTORCH_WINS = 0.97
"""Where PyTorch takes less than this share of the fastest tuning's time."""
Tell = Callable[[str], None]


@dataclass(frozen=True)
class TuneOptions:
    seconds: float = 60.0
    """For compiling and timing tunings."""
    autotune: bool = False
    dispatch: bool = False
    suggest: Callable[[str], tuple[Tuning, ...]] = lambda _: ()
    """Asked with the file: constants that somebody proposes to try."""
    before: OperatorCheck | None = None
    """What a check of the same files has just found, where there was one."""
    min_gain: float = 1.01
    """How many times faster the winner must be to replace what is there."""


@dataclass(frozen=True)
class TunedOperator:
    """How a tuning ended."""

    operator: str
    before: str
    after: str
    """Constants, in a line."""
    changed: bool
    mean_before: float | None
    mean_after: float | None
    """Geometric means of the speedups; null where nothing was timed."""
    right: bool
    """What lies there now has passed for accuracy."""
    target_met: bool | None
    performance: PerformanceResult | None
    """Of what lies there now, call by call."""
    tried: int
    why: str
    history: str


def tune_project(
    folder: Path, config: CheckConfig, options: TuneOptions, tell: Tell = lambda _: None, host: Judge | None = None
) -> TunedOperator:
    """Raises ProjectError for a broken project; a kernel that is wrong is not tuned."""
    project, texts = read_whole_project(folder)
    name = project.operator.file_name("triton")
    own = read_tuning(texts["triton"])
    if chooses_by_shape(texts["triton"]):
        kept = sorted(folder.glob(f"{name}.bak*"), key=lambda path: path.stat().st_mtime)
        back = f"copy {kept[-1]} to it" if kept else "put one set of them at its top"
        raise ProjectError(f"{name} chooses its constants by shape already: {back} to tune it again")
    if not own.values:
        raise ProjectError(f"{name}: no constants to tune: write them at the top, as BLOCK = 1024 or NUM_WARPS = 4")
    if options.autotune:
        with_autotune(texts["triton"], [without_hints(own)])  # what cannot be written is said before the search
    with open_judges(config, host) as judges:
        if options.dispatch and judges.values.device == "cpu":
            raise UsageError("--dispatch needs a GPU: which constants a shape wants can only be measured")
        if options.dispatch:
            _with_dispatch(project.operator, texts, own, [own for _ in project.operator.performance])  # also this
        before = options.before or judge_files(project, texts, judges, tell)
        if not before.accuracy.passed:
            why = f"{name} is wrong, so nothing was tried: {before.accuracy.reason.splitlines()[0]}"
            return _ended(project, own, own, before, before, 0, why)
        met = before.performance is not None and before.performance.target_met
        if met and not options.autotune and not options.dispatch:
            why = "the target is met already: raise it in operator.toml to go on"
            return _ended(project, own, own, before, before, 0, why)
        return _tune(project, texts, before, judges, options, tell)


@dataclass(frozen=True)
class FoundConstants:
    """What a search came to, before anybody has judged it."""

    text: str
    tuning: Tuning
    rows: tuple[HistoryRow, ...]
    note: str = ""
    """Why there is no choice by shape though one was asked for."""


def search_constants(
    operator: Operator,
    texts: Mapping[str, str],
    trials: ShapeTrials,
    before: OperatorCheck,
    options: TuneOptions,
    tell: Tell = lambda _: None,
) -> FoundConstants:
    own = texts["triton"]
    file = TunedFile(own, lambda text: single_kernel(operator, text), options.suggest(own))
    if not trials.is_timed:
        trials.compile([file.write(one) for one in file.tunings[:_COMPILED]], options.seconds)
    by_shape = trials.is_timed and (options.autotune or options.dispatch)
    seconds = options.seconds / (1 + len(trials.shapes) * by_shape)
    found = TuningSearch(file, trials, SearchLimits(seconds), tell).run({})
    rows, fastest = list_tried(file, trials, found, before), []
    for shape, one in zip(trials.shapes, trials.trials, strict=True) if by_shape else ():
        alone = ShapeTrials([one], [shape], is_timed=True)
        outcome = TuningSearch(file, alone, SearchLimits(seconds), tell).run({})
        winner = outcome.tunings[0]
        fastest.append(ShapeWinner(shape, winner, outcome.best_ms or math.inf))
        rows += [row for row in list_tried(file, alone, outcome, before) if row.configuration == describe(winner)]
    winner, known_ms = found.tunings[0], baseline_ms(before)
    wins = [known_ms.get(one.shape, math.inf) < _PYTORCH_WINS * one.ms for one in fastest]
    if options.dispatch and by_shape and all(wins):
        note = f"PyTorch is faster on every shape of {operator.name}, so no choice by shape was written"
        return FoundConstants(with_tuning(own, winner), winner, tuple(rows), note)
    if options.dispatch and by_shape:
        chosen = [None if lost else one.tuning for lost, one in zip(wins, fastest, strict=True)]
        text = _with_dispatch(operator, texts, winner, chosen)
    elif options.autotune:
        best = [one.tuning for one in fastest] or _clean(file, trials)
        plain = [without_hints(one) for one in (winner, *best)]
        text = with_autotune(with_tuning(own, winner), list(dict.fromkeys(plain))[:_CONFIGURATIONS])
    else:
        text = with_tuning(own, winner)
    return FoundConstants(text, winner, tuple(rows))


def _with_dispatch(
    operator: Operator, texts: Mapping[str, str], winner: Tuning, chosen: Sequence[Tuning | None]
) -> str:
    """`chosen`: the constants of each shape for performance, None where PyTorch is faster."""
    plain = [one and without_hints(one) for one in chosen]
    choices = list(zip(operator.performance, plain, strict=True))
    pytorch = parse_definition(texts["baseline"], operator.name)
    return with_dispatch(with_tuning(texts["triton"], winner), operator, choices, pytorch)


def _tune(
    project: Project,
    texts: Mapping[str, str],
    before: OperatorCheck,
    judges: Judges,
    options: TuneOptions,
    tell: Tell,
) -> TunedOperator:
    operator, own = project.operator, read_tuning(texts["triton"])
    with _trials(operator, texts, judges.speed) as trials:
        found = search_constants(operator, texts, trials, before, options, tell)
    # before the winner is judged: what was measured is kept, however that ends
    where = (
        "measured on the GPU" if trials.is_timed else f"without a GPU, compiled for {judges.speed.config.target}"
    )
    title = f"{datetime.now(UTC):%Y-%m-%d %H:%M} {where}"
    append_rows(project.folder / operator.history, operator.name, title, found.rows)
    after, kept, aside = before, own, ""
    by_shape = (options.autotune or options.dispatch) and not found.note
    if found.text != texts["triton"]:
        changed = {**texts, "triton": found.text}
        after = judge_files(project, changed, judges, tell)
        if _is_better(before, after, options):
            kept = found.tuning
            if read_files(project)["triton"] != texts["triton"]:
                raise ProjectError(
                    f"{project.path('triton')} was changed meanwhile, so it is left alone: tune it again"
                )
            aside = f" ({set_aside(project.path('triton')).name} is as it was)" if by_shape else ""
            write_atomically(project.path("triton"), found.text)
            if after.passed:
                write_project(passing(project, changed, judges.values.device))
        else:
            after = before if after.accuracy.passed else after
    why = "; ".join(filter(None, [_why(own, kept, before, after, trials.is_timed), found.note]))
    ended = _ended(project, own, kept, before, after, len(found.rows), why)
    return replace(ended, after=f"by shape: {project.path('triton')}{aside}") if aside else ended


class ShapeWinner(NamedTuple):
    """The constants that were fastest at one shape."""

    shape: str
    tuning: Tuning
    ms: float


def _clean(file: TunedFile, trials: ShapeTrials) -> list[Tuning]:
    """What the compiler takes without spilling."""
    compiled = {one: trials.compiled.get(file.write(one)) for one in file.tunings}
    return [
        tuning
        for tuning, one in compiled.items()
        if one is not None and not (one.problem or one.refused or any(one.spills.values()))
    ]


@contextlib.contextmanager
def _trials(operator: Operator, texts: Mapping[str, str], judge: Judge) -> Iterator[ShapeTrials]:
    dtype = timed_dtype(operator.dtypes)
    shapes = operator.performance if judge.device == "cuda" else operator.performance[:1]
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory(prefix="tilesmith-op-") as folder:
        found: list[TrialsOnDemand] = []
        group: list[TrialsOnDemand] = []
        for place, sizes in enumerate(shapes):
            path = Path(folder) / f"{operator.name}_{place}.py"
            call = single_call(operator, dtype, sizes)
            path.write_text(single_task(operator, texts["baseline"], call), encoding="utf-8")
            size = sum(8 * math.prod(shape_of(one, sizes)) for one in operator.tensors)
            found.append(TrialsOnDemand(partial(judge.trials, path), size, group))
            stack.callback(found[-1].close)
        yield ShapeTrials(found, [size_text(one) for one in shapes], found[0].is_timed)


def _is_better(before: OperatorCheck, after: OperatorCheck, options: TuneOptions) -> bool:
    """By the measured mean; without a GPU, whatever the compiler prefers and the judge finds right."""
    if not after.accuracy.passed or after.performance is None:
        return False
    old, new = _mean(before), _mean(after)
    if old is None or new is None:
        return after.performance.target_met is not False
    return new >= old * (1.0 if options.dispatch or options.autotune else options.min_gain)


def _mean(check: OperatorCheck) -> float | None:
    return check.performance.geometric_mean if check.performance else None


def _why(own: Tuning, kept: Tuning, before: OperatorCheck, after: OperatorCheck, is_timed: bool) -> str:
    if not after.accuracy.passed:
        return f"the fastest constants are wrong ({after.accuracy.verdict}), so the file is as it was"
    gain = ""
    old, new = _mean(before), _mean(after)
    if old is not None and new is not None and old != new:
        gain = f": {old:.3f} became {new:.3f}"
    told = "no gain: the file is as it was" if kept == own and after is before else f"kept{gain}"
    return told if is_timed else f"{told}; {WITHOUT_GPU}"


def _ended(
    project: Project, own: Tuning, kept: Tuning, before: OperatorCheck, after: OperatorCheck, tried: int, why: str
) -> TunedOperator:
    passed = after if after.accuracy.passed else before
    return TunedOperator(
        operator=project.operator.name,
        before=describe(own),
        after=describe(kept),
        changed=after is not before and after.accuracy.passed,
        mean_before=_mean(before),
        mean_after=_mean(passed),
        right=passed.accuracy.passed,
        target_met=passed.performance.target_met if passed.performance else None,
        performance=passed.performance,
        tried=tried,
        why=why,
        history=str(project.folder / project.operator.history),
    )
