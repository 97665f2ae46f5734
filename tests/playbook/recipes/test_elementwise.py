"""Chains of pointwise operators, from the graph to one kernel: its text, its values, and the judge's word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden_texts import golden
from playbook_children import Twins, find_problems, interpreting
from playbook_judging import assert_clean, judge_written, some_of
from playbook_surveys import match_task
from playbook_tasks import ELEMENTWISE, task

from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.tuning import find_tuning

JUDGED = ("bias_per_channel", "through_half")


def written(name: str) -> str:
    match = match_task(name, ELEMENTWISE[name])
    return match.write(match.tunings[0])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_text_is_as_it_was(name: str) -> None:
    match = match_task(name, ELEMENTWISE[name])
    assert isinstance(match, Plan)
    assert [region.recipe for region in match.regions] == ["elementwise"]
    source = match.write(match.tunings[0])
    assert source == golden(f"elementwise/{name}")
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(match, source) == match.tunings[0]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_values_are_right(name: str) -> None:
    assert interpreting(find_problems, ELEMENTWISE[name], written(name), launches=1) == []


@pytest.mark.parametrize("name", some_of(ELEMENTWISE, JUDGED))
def test_the_judge_passes_it(name: str, judge: Judge, tmp_path: Path) -> None:
    match = match_task(name, ELEMENTWISE[name])
    assert_clean(judge_written(judge, tmp_path, ELEMENTWISE[name], match, match.tunings[0]))


def test_every_tuning_is_right() -> None:
    text = ELEMENTWISE["bias_per_channel"]
    match = match_task("bias_per_channel", text)
    near = [one for stage in ("grid", "block", "memory") for one in match.variations(match.tunings[0], stage)]
    for tuning in dict.fromkeys((*match.tunings[1:], *near)):
        assert interpreting(find_problems, text, match.write(tuning), launches=1) == [], tuning


@pytest.mark.slow_suite
def test_the_judge_passes_every_tuning(judge: Judge, tmp_path: Path) -> None:
    text = ELEMENTWISE["bias_per_channel"]
    match = match_task("bias_per_channel", text)
    near = [one for stage in ("grid", "block", "memory") for one in match.variations(match.tunings[0], stage)]
    for tuning in dict.fromkeys((*match.tunings[1:], *near)):
        assert_clean(judge_written(judge, tmp_path, text, match, tuning))


def test_more_than_two_to_the_31_elements_are_counted_in_64_bits() -> None:
    small = ELEMENTWISE["silu_gate"]
    match = match_task("huge", small.replace("(17, 1000)", "(65536, 65536)"))
    source = match.write(match.tunings[0])
    assert "tl.program_id(0).to(tl.int64)" in source
    assert "assert numel" not in source
    assert "assert numel < 2**31" in written("silu_gate")


QUOTIENTS = {
    "least_integers": (
        "return a // 3, a % 3, a // b, torch.div(a, -7, rounding_mode='floor')",
        "a = torch.arange(-2**31, 60 - 2**31).int()\nb = torch.randint(2, 9, (60,)).int()",
    ),
    "bytes": (
        "return a // 100, a // b",
        "a = (torch.arange(256) - 128).to(torch.int8)\nb = torch.full((256,), -100, dtype=torch.int8)",
    ),
    "zeros_and_infinities": (
        "return torch.floor_divide(a, b), torch.remainder(a, b), a // 0.0",
        "a = torch.randn(60)\nb = torch.tensor([0.0, 1.5, -1.5, math.inf, -math.inf, math.nan]).repeat(10)",
    ),
    "doubles": ("return x // 0.1, x % 0.3, x // -3", "x = torch.randn(60, dtype=torch.float64)"),
    "cast_places": (
        "places = torch.arange(x.shape[0])\nreturn x[places.bool().long()] + x[places.to(torch.int8).long()]",
        "x = torch.randn(300, 20)",
    ),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_of_unusual_numbers_are_right(name: str) -> None:
    text = task(*QUOTIENTS[name])
    match = match_task(name, text)
    assert interpreting(find_problems, text, match.write(match.tunings[0]), launches=1, ragged=False) == []


def test_what_lies_apart_is_read_with_one_element_a_thread_first() -> None:
    text = task("return torch.nn.functional.max_pool1d(x, 3, 2, 1) + 1", "x = torch.randn(8, 16, 1000)")
    match = match_task("pooled", text)
    first = dict(match.tunings[0].values)
    assert first["BLOCK"] == 32 * first["NUM_WARPS"]
    assert interpreting(find_problems, text, match.write(match.tunings[0]), launches=1) == []
    together = dict(match_task("silu_gate", ELEMENTWISE["silu_gate"]).tunings[0].values)
    assert together["BLOCK"] == 8 * 32 * together["NUM_WARPS"]


def test_what_all_places_of_a_window_share_is_computed_once() -> None:
    text = task(
        "return torch.nn.functional.max_pool2d(torch.relu(x * torch.exp(scale)[:, None, None]), 3, 2, 1)",
        "x = torch.randn(4, 8, 20, 30)\nscale = torch.randn(8)",
    )
    match = match_task("windows", text)
    source = match.write(match.tunings[0])
    assert source.count("tl.load(scale_ptr") == source.count("libdevice.exp(") == 1
    assert interpreting(find_problems, text, source, launches=1) == []


def test_a_number_is_taken_from_where_the_task_has_it() -> None:
    assert "return mul_add(x, s)" in written("number_argument")
    assert "self.act.negative_slope" in written("leaky_relu_module")
    assert "self.width ** 0.5" in written("scaled_by_root")


@pytest.mark.parametrize(
    ("traced", "called", "reason"),
    [
        (((12, 40), (12, 40)), ((12, 40), (1, 40)), "b.shape[0] == a.shape[0]"),
        (((12, 40), (12, 40)), ((12, 40), (12, 41)), "b.shape[-1] == a.shape[-1]"),
        (((12, 7, 40), (12, 1, 40)), ((12, 7, 40), (12, 7, 40)), "b.shape[1] == 1"),
        (((1, 40), (1, 40)), ((5, 40), (5, 40)), "a.shape[0] == 1"),
        (((12, 40), (40,)), ((12, 40), (12, 40)), "b.dim() == 1"),
    ],
)
def test_what_a_kernel_would_read_wrongly_is_refused(
    traced: tuple[tuple[int, ...], ...], called: tuple[tuple[int, ...], ...], reason: str
) -> None:
    text = task(
        "return a * b + 1",
        "\n".join(f"{name} = torch.randn{shape}" for name, shape in zip("ab", traced, strict=True)),
    )
    match = match_task(f"traced_{traced}", text)
    with pytest.raises(AssertionError, match=re.escape(f"written for {reason}")):
        interpreting(call_with, text, match.write(match.tunings[0]), called)


def call_with(text: str, kernel: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    import torch

    Twins(text, kernel).outputs(*map(torch.randn, shapes))
