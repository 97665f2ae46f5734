"""Operators that move elements, as index arithmetic inside of one kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_children import Twins, compile_exact, find_problems, interpreting
from playbook_judging import ONE_TARGET, judge_written, some_of
from playbook_surveys import match_task
from playbook_tasks import MOVED, task

from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.plan import Plan
from tilesmith.records import Verdict

JUDGED = ("rotary_halves", "embeddings_normalized")


def written(name: str) -> str:
    match = match_task(name, MOVED[name])
    assert isinstance(match, Plan)
    assert len(match.forward.steps) == len(match.regions) == 1, [str(step) for step in match.forward.steps]
    return match.write(match.tunings[0])


@pytest.mark.parametrize("name", MOVED)
def test_values_are_right(name: str) -> None:
    source = written(name)
    assert lint(read_kernel(source)).findings == ()
    assert interpreting(find_problems, MOVED[name], source, launches=1) == []


def test_other_sizes_are_refused_where_numbers_may_have_come_from_them() -> None:
    assert "assert x.shape[-1] == 24" in written("odd_split")


def test_other_sizes_are_taken_where_numbers_stayed_the_same() -> None:
    source = written("slice_of_rows")
    longer = MOVED["slice_of_rows"].replace("10, 24", "10, 48")
    assert interpreting(find_problems, longer, source, ragged=False) == []
    assert "assert 20 <= x.shape[-1]" in source


def test_a_tensor_is_as_large_as_a_number_that_it_is_joined_with() -> None:
    assert "assert y.shape[1] == 16" in written("reshaped_anew")


@pytest.mark.parametrize("target", ONE_TARGET)
def test_nothing_spills(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    for name in MOVED:
        for kernel in compile_exact(MOVED[name], written(name), target, str(tmp_path)):
            assert not kernel.spills, name


@pytest.mark.parametrize("name", some_of(MOVED, JUDGED))
def test_the_judge_passes_it(name: str, judge: Judge, tmp_path: Path) -> None:
    match = match_task(name, MOVED[name])
    evaluation = judge_written(judge, tmp_path, MOVED[name], match, match.tunings[0])
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason


def test_a_tensor_larger_than_the_output_is_counted_too() -> None:
    small = task("return x[:, 0] * 2 + 1", "x = torch.randn(70, 3, 40)")
    assert "assert max(numel, x.numel()) < 2**31" in match_task("picked", small).write(
        match_task("picked", small).tunings[0]
    )
    huge = match_task("picked", small.replace("70, 3, 40", "70000, 300, 400"))
    assert "tl.program_id(0).to(tl.int64)" in huge.write(huge.tunings[0])


def take_outside(text: str, source: str) -> int:
    """How many results there are where every place is beyond the end; the interpreter stops stray loads."""
    import torch

    return len(Twins(text, source).outputs(torch.randn(30, 40), torch.full((30, 9), 40)))


def test_a_place_outside_of_the_tensor_is_not_read() -> None:
    assert interpreting(take_outside, MOVED["gathered"], written("gathered")) == 1
