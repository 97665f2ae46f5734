"""Names of operators and of their helpers against those of the judge's own text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from softmax_project import written
from workshop_tools import CPU

from tilesmith.errors import ProjectError
from tilesmith.judge import Judge
from tilesmith.operators.checking import judge_accuracy
from tilesmith.operators.definition import parse_definition
from tilesmith.operators.interface import require_one_interface
from tilesmith.operators.writing import baseline_text

DEFINITION = """import torch
DTYPES = ["int32"]
ACCURACY = [{"M": 7, "N": 5}]
json = nn = make_inputs = drawn = DEVICE = shapes = 2
def NAME(x): return x * json
"""
KERNEL = """import torch
import triton
import triton.language as tl
json = nn = make_inputs = drawn = DEVICE = shapes = 2

@triton.jit
def double(x_ptr, y_ptr, numel, factor, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, factor * tl.load(x_ptr + offs, mask=offs < numel), mask=offs < numel)

def NAME(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), HELPER, BLOCK=64)
    return y
"""


@pytest.mark.parametrize(
    ("name", "helper"), [("plain", "json"), ("json", "nn"), ("nn", "shapes"), ("make_inputs", "nn")]
)
def test_names_of_the_judges_text_are_free(name: str, helper: str, judge: Judge) -> None:
    definition = parse_definition(DEFINITION.replace("NAME", name).replace("x * json", f"x * {helper}"), name)
    texts = {
        "baseline": baseline_text(definition),
        "triton": KERNEL.replace("NAME", name).replace("HELPER", helper),
    }
    with Judge(replace(CPU, timing=False), host=judge) as own:
        found = judge_accuracy(definition.operator, texts, own, lambda _: None)
    assert found.passed, found.reason


@pytest.mark.parametrize("name", ["Model", "ModelNew", "get_inputs", "judged_view"])
def test_names_that_the_judge_must_have_are_refused(name: str) -> None:
    with pytest.raises(ProjectError, match=f"^line 1: {name} is a name that the judge uses; choose another$"):
        parse_definition(f"def {name}(x): return x\n", name)
    with pytest.raises(ProjectError, match=f"^line 1: {name} is a name"):
        parse_definition(f"class {name}: pass\ndef plain(x): return x\n", "plain")


@pytest.mark.parametrize("name", ["torch", "tl", "max", "F"])
def test_names_that_the_files_use_are_refused(name: str) -> None:
    with pytest.raises(ProjectError, match=f"^'{name}' cannot be the name of an operator: the files use it"):
        parse_definition(f"def {name}(x): return x\n", name)
    with pytest.raises(ProjectError, match=r"^'plain' cannot be an operator and its parameter; rename one"):
        parse_definition("def plain(plain): return plain\n", "plain")


def test_a_kernel_file_leaves_the_judge_its_names() -> None:
    project, texts = written()
    texts["triton"] = f"class ModelNew: pass\n{texts['triton']}"
    with pytest.raises(ProjectError, match=r"^softmax_triton\.py, line 1: ModelNew is a name that the judge uses"):
        require_one_interface(project, texts)
