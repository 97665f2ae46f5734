"""Kernels that are wrong in one branch, layout or value alone: the judge must see each of them."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from workshop_tools import CPU

from tilesmith.errors import ProjectError
from tilesmith.judge import Judge
from tilesmith.operators.checking import AccuracyResult, judge_accuracy
from tilesmith.operators.definition import parse_definition
from tilesmith.operators.writing import accuracy_text, baseline_text, function_head

SMALL = ({"M": 5, "N": 1}, {"M": 7, "N": 5}, {"M": 0, "N": 5})
KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def own_kernel(x_ptr, y_ptr, numel, a, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < numel)
    tl.store(y_ptr + offs, {result}, mask=offs < numel)


def launch(x, a=0.0):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        own_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), a, BLOCK=64)
    return y


"""


def judged(
    judge: Judge, definition: str, entry: str, result: str = "x + 1", before: str = "", **settings: Any
) -> AccuracyResult:
    """An operator `own`, whose kernel computes `result` and whose entry has this body."""
    found = parse_definition(definition, "own")
    operator = replace(found.operator, **{"accuracy": SMALL, "dtypes": ("float32",), **settings})
    baseline = baseline_text(replace(found, operator=operator))
    body = "".join(f"    {line}\n" for line in entry.splitlines())
    triton = f"{KERNEL.format(result=result)}{before}{function_head(operator)}\n{body}"
    with Judge(replace(CPU, timing=False), host=judge) as own:
        return judge_accuracy(operator, {"baseline": baseline, "triton": triton}, own)


PLUS_ONE = "def own(x): return x + 1\n"
CHOICES = (
    "CHOICES = {{(4096, 4096): {first}, (64, 64): None}}\n\n\ndef own_pytorch(x):\n    return x {fallback}\n\n\n"
)
BY_SHAPE = """chosen = CHOICES[min(CHOICES, key=lambda one: sum(abs(a - b) for a, b in zip(one, x.shape)))]
return {pytorch} if chosen is None else launch(x, **chosen)"""


def test_what_is_left_to_pytorch_is_judged(judge: Judge) -> None:
    before = CHOICES.format(first="{}", fallback="+ 1")
    assert judged(judge, PLUS_ONE, BY_SHAPE.format(pytorch="own_pytorch(x)"), before=before).passed
    found = judged(judge, PLUS_ONE, BY_SHAPE.format(pytorch="own_pytorch(x) * 0"), before=before)
    assert found.reason.startswith("where PyTorch is chosen: output 'float32 M=5 N=1'")


@pytest.mark.parametrize(
    ("first", "fallback", "problem"),
    [
        ("{}", "+ 2", "own_pytorch does not have the body that own has in own_baseline.py: put it back"),
        ("None", "+ 1", "CHOICES leaves every shape to PyTorch: give one of them its constants back"),
    ],
)
def test_another_pytorch_or_no_kernel_at_all_is_refused(
    first: str, fallback: str, problem: str, judge: Judge
) -> None:
    before = CHOICES.format(first=first, fallback=fallback)
    with pytest.raises(ProjectError, match=problem):
        judged(judge, PLUS_ONE, BY_SHAPE.format(pytorch="own_pytorch(x)"), before=before)


@pytest.mark.parametrize(
    ("entry", "layout"),
    [
        (
            "if x.stride(-1) == 1 and x.stride(0):\n    x = x.as_strided(x.shape, (x.shape[1], 1))",
            "sliced",
        ),
        ("x = torch.as_strided(x, x.shape, x.stride(), 0)", "sliced"),
        ("if x.stride(0) == 1 and x.shape[1] > 1:\n    x = x * 2", "transposed"),
        ("if x.stride(0) == 0:\n    x = x * 2", "expanded"),
    ],
)
def test_memory_may_lie_in_any_way(entry: str, layout: str, judge: Judge) -> None:
    found = judged(judge, PLUS_ONE, f"{entry}\nreturn launch(x)")
    assert f"output 'float32 M=7 N=5, {layout}'" in found.reason


def test_memory_that_the_baseline_refuses_is_not_asked_for(judge: Judge) -> None:
    definition = "def own(x): return x.view(-1).view(x.shape) + 1\n"
    assert judged(judge, definition, "return launch(x)").passed


def test_a_sum_over_nothing_has_a_value(judge: Judge) -> None:
    entry = "if x.shape[0] == 0:\n    return torch.full_like(x.sum(0), 77)\nreturn launch(x).sum(0)"
    found = judged(judge, "def own(x): return (x + 1).sum(0)\n", entry)
    assert "output 'float32 M=0 N=5" in found.reason


def test_of_nothing_the_dtype_counts(judge: Judge) -> None:
    found = judged(judge, PLUS_ONE, "return launch(x) if x.numel() else launch(x).double()")
    assert "output 'float32 M=0 N=5" in found.reason


@pytest.mark.parametrize(
    ("dtype", "definition", "result"),
    [
        ("int32", PLUS_ONE, "x.to(tl.float32) + 1"),
        ("bool", "def own(x): return ~x\n", "x == 77"),
    ],
)
def test_whole_numbers_are_large_and_booleans_are_both(
    dtype: str, definition: str, result: str, judge: Judge
) -> None:
    assert not judged(judge, definition, "return launch(x)", result, dtypes=(dtype,)).passed
    honest = "x + 1" if dtype == "int32" else "x == 0"
    assert judged(judge, definition, "return launch(x)", honest, dtypes=(dtype,)).passed


def by_hand(definition: str, body: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The accuracy file of an operator `own` on one shape, where the kernel's entry has this body."""
    found = parse_definition(f"DTYPES = ['float32']\nACCURACY = [{{'M': 7, 'N': 5}}]\n{definition}", "own")
    operator = found.operator
    triton = f"import torch\n{function_head(operator)}\n{indent(body, '    ')}\n"
    for kind, text in (
        ("baseline", baseline_text(found)),
        ("accuracy", accuracy_text(operator)),
        ("triton", triton),
    ):
        (folder / f"own_{kind}.py").write_text(text)
    return subprocess.run([sys.executable, str(folder / "own_accuracy.py")], capture_output=True, text=True)


def test_the_accuracy_file_sees_a_kernel_that_writes_to_its_input(tmp_path: Path) -> None:
    """Both would read what it wrote."""
    found = by_hand("def own(x): return x * 1.3\n", "y = x * 1.3\nx.fill_(1e9)\nreturn y", tmp_path)
    assert found.returncode == 1
    assert "the kernel writes to x" in found.stdout


def test_an_error_is_told_apart_from_what_is_allowed(tmp_path: Path) -> None:
    found = by_hand(PLUS_ONE, "return ((x + 1).double() * 1.00000113).float()", tmp_path)
    error, allowed = re.findall(r"relative error (\d\S+), allowed is (\d\S+)", found.stdout)[0]
    assert error != allowed


@pytest.mark.parametrize(("kernel", "code"), [("torch.sqrt(x)", 0), ("torch.sqrt(x.abs())", 1)])
def test_what_is_no_number_must_be_where_pytorch_has_it(kernel: str, code: int, tmp_path: Path) -> None:
    assert by_hand("def own(x): return torch.sqrt(x)\n", f"return {kernel}", tmp_path).returncode == code


def test_a_kernel_file_may_have_helpers_of_any_plain_name(judge: Judge) -> None:
    helpers = "".join(f"def {name}(x):\n    return x\n\n\n" for name in ("shapes", "strided", "viewed", "laid_out"))
    entry = "return launch(shapes(strided(viewed(laid_out(x)))))"
    assert judged(judge, PLUS_ONE, entry, before=helpers).passed


POWER = "VALUES = {'k': [2, 3]}\ndef own(x, k: int, flip: bool = False): return -(x * k) if flip else x * k\n"
REFUSES = "if flip:\n    raise ValueError('flip')\n"


@pytest.mark.parametrize(
    ("entry", "result", "reason"),
    [
        ("return launch(x, k)", "x * a", "flip=True: the output on ordinary inputs: "),
        (f"{REFUSES}return launch(x)", "x * 2", "k=3: the output on ordinary inputs: "),
        (f"{REFUSES}return launch(x, abs(k))", "x * a", ""),
    ],
)
def test_a_value_that_is_baked_in_must_be_refused(entry: str, result: str, reason: str, judge: Judge) -> None:
    found = judged(judge, POWER, entry, result)
    assert (found.passed, reason in found.reason) == (not reason, True)
    assert reason or "float32 M=7 N=5, k=3" in found.cases
    assert reason or any(note.startswith("refuses flip=True, as it may") for note in found.notes)


def test_a_negative_float_is_tried_where_it_is_named(judge: Judge) -> None:
    definition = "VALUES = {'a': [0.5, -2.0]}\ndef own(x, a: float): return x * a\n"
    found = judged(judge, definition, "return launch(x, abs(a))", "x * a")
    assert "output 'float32 M=7 N=5, a=-2.0'" in found.reason


def test_a_named_value_that_pytorch_refuses_is_one_line(judge: Judge) -> None:
    definition = "VALUES = {'k': [0, 5]}\ndef own(x, k: int): return x + x.shape[k]\n"
    with pytest.raises(ProjectError, match=r"k=5: PyTorch fails there: .*; name another value"):
        judged(judge, definition, "return launch(x, x.shape[k])", "x + a")


@pytest.mark.parametrize(("refusal", "code"), [("raise ValueError('k')", 0), ("pass", 1)])
def test_the_accuracy_file_wants_other_values_right_or_refused(refusal: str, code: int, tmp_path: Path) -> None:
    found = by_hand("def own(x, k: int = 2): return x * k\n", f"if k != 2:\n    {refusal}\nreturn x * 2", tmp_path)
    assert found.returncode == code, found.stdout
    assert "1 skipped" in found.stdout or "test_another_k" in found.stdout
