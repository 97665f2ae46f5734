"""Texts are tried in children of their own: what the compiler says of them, without a GPU."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tilesmith.judge import Judge
from tilesmith.judge.trials import spilled_bytes
from tilesmith.records import KernelResources

EXAMPLES = Path(__file__).parents[2] / "examples"
TASK, KERNEL = EXAMPLES / "softmax.py", EXAMPLES / "kernels" / "softmax.py"

STAGED = """
import torch, triton, triton.language as tl

@triton.jit
def small_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))

@triton.jit
def staged_kernel(x_ptr, y_ptr, K):
    rows, cols = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(x_ptr + rows * K + start + cols).to(tl.float16)
        y = tl.load(x_ptr + (start + rows) * K + cols).to(tl.float16)
        total = tl.dot(x, y, total)
    tl.store(y_ptr + rows * 64 + cols, total)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        small_kernel[(1,)](x, y, BLOCK=128)
        staged_kernel[(1,)](x, y, 4096, num_stages=STAGES)
        return y
"""


def test_what_does_not_fit_is_told_by_kernel(judge: Judge) -> None:
    with judge.trials(TASK) as trials:
        assert not trials.is_timed, "there is no GPU here"
        fits, overflowing, broken = trials.compile(
            [STAGED.replace("STAGES", "2"), STAGED.replace("STAGES", "8"), "raise RuntimeError('no')"], 60.0
        )
    assert (fits.spills, fits.refused, fits.problem) == ({"small_kernel": 0, "staged_kernel": 0}, (), None)
    assert overflowing.refused == ("staged_kernel",)
    assert "small_kernel" in overflowing.spills
    assert broken.problem is not None
    assert "no" in broken.problem


@pytest.mark.parametrize(("is_timed", "counted"), [(True, 0), (False, 856)])
def test_the_clock_decides_about_a_little_that_is_spilled(is_timed: bool, counted: int) -> None:
    found = [KernelResources("a", "sm_90", 255, spilled, 0, True, 4, 3) for spilled in (0, 856)]
    assert spilled_bytes(found, is_timed) == {"a": counted}
    assert spilled_bytes([replace(found[0], spills=4000), *found], is_timed) == {"a": 4000}


def test_many_are_tried_at_once_and_the_judge_goes_on(judge: Judge) -> None:
    with judge.trials(TASK) as trials:
        found = trials.compile([KERNEL.read_text()] * 3, 60.0)
        late = trials.compile([KERNEL.read_text()] * 3, 0.0)
    assert [(one.problem, one.refused, bool(one.spills)) for one in found] == [(None, (), True)] * 3
    assert len(late) == 1
    assert judge.check(TASK, KERNEL).passed


def test_what_one_child_compiled_the_next_takes_from_it(judge: Judge) -> None:
    """Told by a note of ours among its binaries: the compiler itself would not say that nothing fits."""
    with judge.trials(TASK) as trials:
        (first,) = trials.compile([KERNEL.read_text()], 60.0)
        notes = [path for path in trials._binaries.glob("*/*.json") if not path.name.startswith("__grp__")]
        assert notes
        for path in notes:
            path.write_text(json.dumps(json.loads(path.read_text()) | {"shared": 1 << 30}))
        (second,) = trials.compile([KERNEL.read_text()], 60.0)
    assert (first.refused, first.problem) == ((), None)
    assert second.refused
