"""A definition is read without being run; what it lacks is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.errors import ProjectError, UsageError
from tilesmith.operators.definition import (
    define_expression,
    parse_definition,
    parse_shapes,
    read_definition,
    with_dtypes,
    with_shapes,
)
from tilesmith.operators.records import OperatorParameter
from tilesmith.operators.sizes import is_empty
from tilesmith.operators.writing import baseline_text

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "operators").glob("*.py"))
NORM = '''"""Scaled rows."""
from math import pi
import torch
from torch import Tensor

SHAPES = {"x": ["...", "N"], "weight": ["N"], "places": ["..."]}
INDICES = {"places": "N"}
DTYPES = ["float16"]
VALUES = {"power": 3}
TARGET = 1.5


def _root(x):
    return x.mean(-1, keepdim=True)


def norm(x: Tensor, weight: Tensor, places: "Tensor", power: int, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """What it says.

    And more.
    """
    # a comment
    return x * _root(x) * weight * pi, x
'''


def test_a_file_is_read_whole() -> None:
    found = parse_definition(NORM, "norm")
    operator = found.operator
    assert operator.signature == (
        "norm(x: torch.Tensor, weight: torch.Tensor, places: torch.Tensor, power: int, eps: float = 1e-05) "
        "-> tuple[torch.Tensor, torch.Tensor]"
    )
    assert operator.summary == "What it says"
    assert operator.parameters[2] == OperatorParameter("places", shape=("...",), dtype="int64", below="N")
    assert operator.parameters[3].value == 3
    assert (operator.dtypes, operator.target, operator.arithmetic) == (("float16",), 1.5, "reduction")
    assert found.body == "# a comment\nreturn x * _root(x) * weight * pi, x"
    assert "def _root" in found.preamble
    assert "SHAPES" not in found.preamble
    assert "    # a comment\n    return x * _root(x)" in baseline_text(found)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ('SHAPES = ["M"]', 'line 2: SHAPES must be like  SHAPES = {"x": ["M", "N"]}'),
        ('DTYPES = {"x": "bool"}', 'line 2: DTYPES must be like  DTYPES = ["float32", "float16"]'),
        ('ACCURACY = {"M": 3}', 'line 2: ACCURACY must be like  ACCURACY = [{"M": 37, "N": 53}]'),
        ('TARGET = "fast"', "line 2: TARGET must be like  TARGET = 1.2"),
        ('VALUES = {"x": 3.0}', "VALUES names 'x', which is no scalar of own"),
        ('INDICES = {"a": "N"}', "INDICES names 'a', which is no tensor of own"),
    ],
)
def test_a_setting_of_another_form_is_one_line(setting: str, complaint: str) -> None:
    with pytest.raises(ProjectError) as raised:
        parse_definition(f"import torch\n{setting}\ndef own(x, a: float = 1.0): return x * a\n", "own")
    assert str(raised.value) == complaint


def test_a_tensor_may_have_a_dtype_of_its_own() -> None:
    text = "OWN_DTYPES = {'mask': 'bool'}\ndef own(x, mask): return x.masked_fill(mask, 0)\n"
    assert [one.dtype for one in parse_definition(text, "own").operator.tensors] == [None, "bool"]
    found = with_dtypes(define_expression("own", "torch.where(mask, x, y)"), ["float16", " mask = bool"]).operator
    assert (found.dtypes, [one.dtype for one in found.tensors]) == (("float16",), ["bool", None, None])
    with pytest.raises(UsageError, match="--dtypes: own has no tensor 'y'"):
        with_dtypes(define_expression("own", "x + 1"), ["y=bool"])


def test_sizes_are_sensible_where_none_are_named() -> None:
    operator = parse_definition(NORM, "norm").operator
    assert {"...": (), "N": 1} in operator.accuracy
    assert any(is_empty(sizes) for sizes in operator.accuracy)
    assert all(sizes["N"] >= 512 for sizes in operator.performance)


def test_free_names_of_an_expression_are_its_parameters() -> None:
    found = define_expression("scaled", "F.hardswish(y) * scale + math.pi * x", ["scale"])
    assert found.operator.signature == "scaled(y: torch.Tensor, scale: float, x: torch.Tensor) -> torch.Tensor"
    assert found.operator.parameters[0].shape == ("...",)
    assert found.preamble == "import math\nimport torch\nimport torch.nn.functional as F"
    changed = with_shapes(found, parse_shapes("x = N; y=..., N"))
    assert [one.shape for one in changed.operator.tensors] == [("...", "N"), ("N",)]
    assert changed.operator.size_names == ("...", "N")


@pytest.mark.parametrize(
    ("expression", "shape"),
    [
        ("x + 1.5 * x.sin()", ("...",)),
        ("torch.where(x > 0, x, -x)", ("...",)),
        ("(x.float() * 2).to(x.dtype)", ("...",)),
        ("x.sin().to(torch.float16)", ("...",)),
        ("torch.softmax(x, -1)", ("M", "N")),
        ("x @ x.T", ("M", "N")),
        ("x[:, :1] + x", ("M", "N")),
        ("max(x.sum(0), x.sum(1))", ("M", "N")),
        ("x * x.numel()", ("M", "N")),
    ],
)
def test_an_expression_over_elements_takes_any_shape(expression: str, shape: tuple[str, ...]) -> None:
    assert define_expression("shaped", expression).operator.tensors[0].shape == shape


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import torch", "there is no function norm; the operator is named after its function"),
        ("def other(x): return x", "there is no function norm, but other"),
        ("def norm(x): return x\ndef other(x): return x", "more than one function"),
        ("@staticmethod\ndef norm(x): return x", "line 2: norm is decorated"),
        ("def norm(*x): return x", "line 1: norm may have plain parameters only"),
        ('def norm(x):\n    """Text."""', "norm has no body"),
        ("def norm(x: list): return x", "line 1: x: list is neither torch.Tensor nor float, int, bool, str"),
        ("def norm(x: 'Tensor |'): return x", "line 1: 'Tensor |' is no annotation"),
        ("def norm(x, y=1e400): return x", "y: inf is no number"),
        (
            "def norm(x): return x\ndef norm(x): return x",
            "more than one function; let the names of helpers begin with _: n",
        ),
        ("def norm(x, y=[1]): return x", "line 1: the default of y must be a number"),
        ("def norm(x, y=None): return x", "line 1: y may be None, which the parameter of an operator cannot be"),
        ("def norm(y: float): return y", "no parameter is a tensor"),
        ("SHAPES = {'z': ['N']}\ndef norm(x): return x", "SHAPES names 'z', which is no tensor of norm"),
        ("SHAPES = dict(x=3)\ndef norm(x): return x", "line 1: SHAPES must be written out, without computing"),
        ("SHAPES = {'x': ['dtype']}\ndef norm(x): return x", "'dtype' cannot be the name of a parameter or a size"),
        ("ACCURACY = [{'M': 3}]\ndef norm(x): return x", "shapes: {'M': 3} has no N"),
    ],
)
def test_what_a_file_lacks_is_said_in_one_line(text: str, complaint: str) -> None:
    with pytest.raises(ProjectError) as raised:
        parse_definition(text, "norm")
    assert str(raised.value).startswith(complaint)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("expression", "scalars", "complaint"),
    [
        ("x +", [], "--expr: invalid syntax"),
        ("x + 1", ["y"], "--scalar y: the expression has no such name; it has x"),
        ("scale * 2", ["scale"], "--expr: no tensor in"),
        ("x * scale", ["scale=two"], "--scalar scale=two: 'two' is no number"),
        ("x * scale", ["scale=inf"], "--scalar scale=inf: 'inf' is no number"),
    ],
)
def test_a_wrong_expression_is_wrong_use(expression: str, scalars: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        define_expression("wrong", expression, scalars)


def test_a_file_that_python_cannot_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "norm.py"
    path.write_text("def norm(x:\n")
    with pytest.raises(ProjectError, match=r"norm\.py, line 1: "):
        read_definition(path, "norm")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_definition(path: Path) -> None:
    assert read_definition(path, path.stem).operator.summary
