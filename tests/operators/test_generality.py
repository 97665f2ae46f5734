"""A kernel that was written in one dtype, with one value of each float: what of it serves others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from workshop_tools import make

from tilesmith.judge import Judge
from tilesmith.operators.definition import Definition, parse_definition
from tilesmith.operators.kernels.generality import built_in_floats, for_any_float
from tilesmith.operators.project import read_project

NORM = """import torch
SHAPES = {"h": ["M", "N"], "weight": ["N"]}
ACCURACY = [{"M": 3, "N": 5}, {"M": 7, "N": 33}]
def norm(h: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    x = h.to(torch.float32)
    x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return weight * x.to(h.dtype)
"""
BRANCH = """import torch
ACCURACY = [{"M": 3, "N": 5}, {"M": 7, "N": 33}]
VALUES = {"step": 0.25}
def branch(x: torch.Tensor, step: float = 0.5, limit: float = 1.0) -> torch.Tensor:
    return torch.clamp(x, -limit, max=limit) * step if step > 0.1 else x
"""
KERNEL = """@triton.jit
def helper(x, H: tl.constexpr):
    return x * 2


@triton.jit
def norm_kernel(weight_ptr, h_ptr, y_ptr):
    x = helper(tl.load(h_ptr), 1)
    y = "é", x.to(tl.float16).to(tl.float32)


def launch(h, weight):
    y = torch.empty_like(h)


class ModelNew:
    def forward(self, h, weight, eps):
        if eps != 1.5e-06:
            raise ValueError("written for eps = 1.5e-06")
        return launch(h, weight)
"""
CAST = "x.to(tl.float16).to(tl.float32)"


def definition(text: str = NORM) -> Definition:
    return parse_definition(text, "norm" if text is NORM else "branch")


def test_a_cast_goes_to_the_type_of_a_tensor() -> None:
    wanted = KERNEL.replace(CAST, "x.to(h_ptr.dtype.element_ty).to(tl.float32)")
    assert for_any_float(definition().operator, KERNEL, "float16", NORM) == wanted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x * 2", "(x * 2).to(tl.float16)"),  # where no pointer is
        ("empty_like(h)", "empty_like(h, dtype=torch.float16)"),
        (CAST, "tl.zeros([4], tl.float16)"),
        ("h_ptr, y_ptr", "g_ptr, y_ptr"),
        ("weight_ptr, h_ptr", "a_ptr, b_ptr"),
    ],
)
def test_a_type_that_no_tensor_tells_is_served_alone(old: str, new: str) -> None:
    text = KERNEL.replace(old, new)
    expected = (
        None if "g_ptr" not in new else text.replace(CAST, "x.to(weight_ptr.dtype.element_ty).to(tl.float32)")
    )
    assert for_any_float(definition().operator, text, "float16", NORM) == expected


@pytest.mark.parametrize("asked", ["h.half()", "h.to(torch.float16)"])
@pytest.mark.parametrize("cast", [CAST, "x"])  # a cast to the type that a kernel is written in is none
def test_a_type_that_the_reference_asks_for_is_kept(asked: str, cast: str) -> None:
    text = KERNEL.replace(CAST, cast)
    assert for_any_float(definition().operator, text, "float16", f"x = {asked}") is None


def test_a_float_that_is_refused_is_built_in() -> None:
    operator = definition().operator
    assert built_in_floats(operator, KERNEL) == ["eps"]
    assert built_in_floats(operator, KERNEL.replace("eps != 1.5e-06", "eps < 0")) == []
    fixed = tuple(replace(one, fixed=one.name == "eps") for one in operator.parameters)
    assert built_in_floats(replace(operator, parameters=fixed), KERNEL) == []


@pytest.mark.slow_suite
def test_a_cast_to_the_dtype_of_an_input_is_right_in_every_dtype(tmp_path: Path, judge: Judge) -> None:
    made = make(definition(), tmp_path, judge)
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    assert ".to(h_ptr.dtype.element_ty).to(tl.float32)" in (tmp_path / "norm" / "norm_triton.py").read_text()


def test_a_float_that_decides_is_built_in_at_its_default(tmp_path: Path, judge: Judge) -> None:
    """The tests take the default, too, and no other; the other float, a bound, is an argument."""
    made = make(definition(BRANCH), tmp_path, judge)
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    assert made.why == "a kernel for float32, float16, bfloat16; step is built in as 0.5"
    parameters = {one.name: one for one in read_project(tmp_path / "branch").operator.parameters}
    assert parameters["step"].fixed
    assert not parameters["limit"].fixed
    assert any(case.endswith("limit=1.75") for case in made.accuracy.cases)
    assert not any("step" in case for case in made.accuracy.cases)
    text = (tmp_path / "branch" / "branch_triton.py").read_text()
    assert text.count("step != 0.5") == 1
    assert "return launch_branch(x, -limit, limit)" in text
    assert 'float32, float16, bfloat16; step 0.5")' in text
