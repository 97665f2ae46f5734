"""The search for constants, with made-up times: what wins, what is written, what the history tells."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sample_operators import BIAS_ADD, WRITTEN

from tilesmith.errors import ProjectError
from tilesmith.judge.trials import CompiledTrial
from tilesmith.operators.checking import AccuracyResult, MeasuredCall, OperatorCheck, PerformanceResult
from tilesmith.operators.definition import parse_definition
from tilesmith.operators.kernels.kernel_file import KernelVariant, triton_text
from tilesmith.operators.tuning.constants import read_tuning
from tilesmith.operators.tuning.history import append_rows
from tilesmith.operators.tuning.shape_choice import (
    always_kernel,
    chooses_by_shape,
    left_to_pytorch,
    with_autotune,
    with_dispatch,
)
from tilesmith.operators.tuning.shape_trials import MOST_BYTES, MOST_OPEN, ShapeTrials, TrialsOnDemand
from tilesmith.operators.tuning.tuner import FoundConstants, TuneOptions, search_constants
from tilesmith.operators.writing import baseline_text

OPERATOR = replace(BIAS_ADD, performance=({"M": 4096, "N": 4096}, {"M": 64, "N": 64}))
SHAPES = ("M=4096 N=4096", "M=64 N=64")
TEXTS = {
    "triton": triton_text(OPERATOR, [KernelVariant(OPERATOR.dtypes, WRITTEN)]),
    "baseline": baseline_text(
        parse_definition(
            "SHAPES = {'x': ['M', 'N'], 'bias': ['N']}\ndef bias_add(x, bias): return x + bias", "bias_add"
        )
    ),
}
Milliseconds = Callable[[int, int], float]
"""Of BLOCK and NUM_WARPS."""


class MadeUpTrials:
    """Knows how long a text takes by its constants; texts of more than 8 warps spill."""

    def __init__(self, milliseconds: Milliseconds, is_timed: bool) -> None:
        self._milliseconds, self.is_timed = milliseconds, is_timed

    def compile(self, texts: Sequence[str], limit_s: float) -> list[CompiledTrial]:
        return [CompiledTrial({"bias_add_kernel": 64 if _constant(one, "NUM_WARPS") > 8 else 0}) for one in texts]

    def time_ms(self, text: str, calls: int) -> float | None:
        return self._milliseconds(_constant(text, "BLOCK"), _constant(text, "NUM_WARPS"))


def _constant(text: str, name: str) -> int:
    return int(re.findall(rf"^{name} = (\d+)$", text, re.MULTILINE)[0])


def check_of(*baseline_ms: float) -> OperatorCheck:
    pairs = zip(SHAPES, baseline_ms, strict=True)
    calls = [MeasuredCall("float16", one, baseline_ms=ms, kernel_ms=1.0) for one, ms in pairs]
    accuracy = AccuracyResult("passed", "", (), None, (), ())
    return OperatorCheck("bias_add", "", accuracy, PerformanceResult(tuple(calls), 0.5, 1.0, False, ""))


def found(large: Milliseconds, small: Milliseconds, is_timed: bool = True, **options: bool) -> FoundConstants:
    trials = [MadeUpTrials(one, is_timed) for one in (large, small)]
    shapes = ShapeTrials(trials, SHAPES, is_timed)  # type: ignore[arg-type]
    return search_constants(OPERATOR, TEXTS, shapes, check_of(2.0, 0.1), TuneOptions(**options))  # type: ignore[arg-type]


def wants(block: int) -> Milliseconds:
    """A kernel that is the slower, the further its block is from this one."""
    return lambda BLOCK, NUM_WARPS: 1 + abs(math.log2(BLOCK / block)) + NUM_WARPS / 100


def test_the_fastest_over_all_shapes_wins() -> None:
    best = found(wants(4096), wants(4096))
    assert (best.tuning["BLOCK"], best.tuning["NUM_WARPS"]) == (4096, 2)
    assert "BLOCK = 4096\nNUM_WARPS = 2\n" in best.text


def test_a_gain_on_one_shape_does_not_pay_for_a_loss_on_another() -> None:
    best = found(wants(1024), lambda BLOCK, NUM_WARPS: 1.0 if BLOCK <= 1024 else 50.0)
    assert best.tuning["BLOCK"] == 1024


def test_the_history_tells_the_speedup_of_each_shape(tmp_path: Path) -> None:
    best = found(wants(2048), wants(2048))
    first = best.rows[0]
    assert first.configuration == "BLOCK 1024, NUM_WARPS 4"
    assert first.speedups == pytest.approx({SHAPES[0]: 2 / 2.04, SHAPES[1]: 0.1 / 2.04})
    assert first.learned == "as it was: where it began"
    better = next(one for one in best.rows if one.configuration == "BLOCK 2048, NUM_WARPS 4")
    assert re.fullmatch(r"BLOCK 1024 -> 2048: \d.\d\d times the best before", better.learned)
    path = tmp_path / "history.md"
    append_rows(path, "bias_add", "one day", best.rows[:1])
    append_rows(path, "bias_add", "the same again", best.rows[:1])
    append_rows(path, "bias_add", "another", [replace(best.rows[0], learned="more")])
    assert path.read_text().splitlines() == [
        "# What was tried on bias_add",
        "",
        *("## one day", "", *TABLE, ""),
        *("## another", "", *TABLE[:2], TABLE[2].replace("as it was: where it began", "more")),
    ]


TABLE = (
    "| configuration | M=4096 N=4096 | M=64 N=64 | geometric mean | what was learned |",
    "| --- | --- | --- | --- | --- |",
    "| BLOCK 1024, NUM_WARPS 4 | 0.9804 | 0.0490 | 0.2192 | as it was: where it began |",
)


@pytest.mark.parametrize(("input_bytes", "most"), [(1, MOST_OPEN), (MOST_BYTES // 2, 2), (MOST_BYTES * 2, 1)])
def test_only_so_many_shapes_are_open_at_once(input_bytes: int, most: int) -> None:
    opened: list[int] = []
    seen: list[tuple[int, ...]] = []

    @contextlib.contextmanager
    def trials(place: int) -> Iterator[MadeUpTrials]:
        opened.append(place)
        seen.append(tuple(opened))
        yield MadeUpTrials(wants(1024), is_timed=True)
        opened.remove(place)

    group: list[TrialsOnDemand] = []
    every = [TrialsOnDemand(partial(trials, place), input_bytes, group) for place in range(7)]
    names = [str(place) for place in range(7)]
    operator = replace(OPERATOR, performance=OPERATOR.performance * 3 + OPERATOR.performance[:1])
    shapes = ShapeTrials(every, names, is_timed=True)
    search_constants(operator, TEXTS, shapes, check_of(2.0, 0.1), TuneOptions(autotune=True))
    assert max(map(len, seen)) == most
    assert {place for one in seen for place in one} == set(range(7))
    for one in every:
        one.close()
    assert opened == []


def test_without_a_gpu_the_compiler_alone_is_asked() -> None:
    best = found(wants(4096), wants(4096), is_timed=False)
    assert best.text == TEXTS["triton"]
    assert all(row.mean is None for row in best.rows)
    assert len(best.rows) > 3


def test_without_a_gpu_what_spills_is_changed() -> None:
    trials = [MadeUpTrials(wants(1024), is_timed=False)]
    spilling = TEXTS | {"triton": TEXTS["triton"].replace("NUM_WARPS = 4", "NUM_WARPS = 16")}
    shapes = ShapeTrials(trials, SHAPES[:1], is_timed=False)  # type: ignore[arg-type]
    best = search_constants(OPERATOR, spilling, shapes, check_of(2.0, 0.1), TuneOptions())
    assert best.text == spilling["triton"].replace("NUM_WARPS = 16", "NUM_WARPS = 8")


def test_dispatch_chooses_by_shape_and_leaves_what_pytorch_does_faster() -> None:
    best = found(wants(4096), wants(512), dispatch=True)
    assert left_to_pytorch(best.text) == [(64, 64)]
    assert '    (4096, 4096): {"BLOCK": 4096, "NUM_WARPS": 2},\n    (64, 64): None,\n' in best.text
    assert "    if chosen is None:\n        return bias_add_pytorch(x, bias)\n" in best.text
    assert "    return launch_bias_add(x, bias, **chosen)\n" in best.text
    assert "BLOCK: int = BLOCK, NUM_WARPS: int = NUM_WARPS) -> torch.Tensor:" in best.text
    assert left_to_pytorch(always_kernel(best.text)) == []
    assert chooses_by_shape(best.text)


def test_no_choice_is_written_where_pytorch_is_always_faster() -> None:
    """What was found is kept, and said."""
    best = found(lambda *_: 9.0, lambda *_: 9.0, dispatch=True)
    assert best.text == TEXTS["triton"]
    assert best.note == "PyTorch is faster on every shape of bias_add, so no choice by shape was written"
    assert len(best.rows) > 2


def test_autotune_has_the_winner_of_every_shape() -> None:
    best = found(wants(4096), wants(512), autotune=True)
    configs = re.findall(r"triton.Config\((.*)\),", best.text)
    assert '{"BLOCK": 4096}, num_warps=2' in configs
    assert '{"BLOCK": 512}, num_warps=1' in configs
    assert "bias_add_kernel[(1,)](x, bias, x, )" in best.text
    assert "NUM_WARPS = " not in best.text
    ast.parse(best.text)


def test_constants_that_the_launcher_computes_with_are_chosen_by_dispatch_only() -> None:
    passed, computed = "BLOCK=BLOCK, num_warps", "BLOCK=BLOCK // 2, num_warps"
    text = TEXTS["triton"].replace(passed, computed)
    tuning = read_tuning(text)
    with pytest.raises(ProjectError, match="tune without --autotune, or on a GPU with --dispatch"):
        with_autotune(text, [tuning])
    pytorch = parse_definition(TEXTS["baseline"], "bias_add")
    chosen = with_dispatch(text, OPERATOR, [(OPERATOR.performance[0], tuning)], pytorch)
    assert '    (4096, 4096): {"BLOCK": 1024, "NUM_WARPS": 4},\n' in chosen
    assert "bias_add_pytorch" not in chosen


def test_a_file_with_two_launches_is_tuned_as_a_whole_only() -> None:
    launch = "bias_add_kernel[(1,)](x, bias, x, BLOCK=BLOCK, num_warps=NUM_WARPS)"
    twice = TEXTS["triton"].replace(launch, f"{launch}\n    {launch}")
    with pytest.raises(ProjectError, match="launches 2 kernels with constants of its own"):
        with_autotune(twice, [read_tuning(twice)])


def test_an_entry_that_refuses_nothing_has_no_place_for_a_choice() -> None:
    head, refusals, rest = TEXTS["triton"].partition("    if (\n")
    text = head + (refusals + rest)[rest.rindex("    return launch_bias_add(") + len(refusals) :]
    choices = [(OPERATOR.performance[0], read_tuning(text))]
    with pytest.raises(ProjectError, match="its entry refuses nothing"):
        with_dispatch(text, OPERATOR, choices, parse_definition(TEXTS["baseline"], "bias_add"))
