"""A project's baseline, read again by --update, with what operator.toml knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from softmax_project import written

from tilesmith.errors import ProjectError
from tilesmith.operators.making import _own_definition

HEAD = "def softmax(x: torch.Tensor, temperature: float"
ADDED = HEAD.replace("x: torch.Tensor", "x: torch.Tensor, bias: torch.Tensor")


@pytest.mark.parametrize(
    ("said", "shape", "dtype", "below", "told"),
    [
        ("x [M, N], bias [N]; ", ("N",), None, None, 0),
        ("x [M, N], bias [M, 4] int64 below N; ", ("M", 4), "int64", "N", 0),
        ("x [M, N], bias [K]; ", ("K",), None, None, 0),
        ("x [M, N]; ", ("M", "N"), None, None, 1),
    ],
)
def test_a_tensor_that_was_added_is_as_the_docstring_says(
    said: str, shape: tuple[str | int, ...], dtype: str | None, below: str | None, told: int, tmp_path: Path
) -> None:
    project, texts = written(folder=tmp_path)
    text = texts["baseline"].replace(HEAD, ADDED).replace("x [M, N]; ", said)
    assert ADDED in text
    project.path("baseline").write_text(text)
    lines: list[str] = []
    operator = _own_definition(project, lines.append).operator
    bias = operator.parameters[1]
    assert (bias.shape, bias.dtype, bias.below) == (shape, dtype, below)
    assert all(set(sizes) >= set(operator.size_names) for sizes in operator.accuracy)
    lines = [line for line in lines if not line.startswith("summary")]
    assert [line.startswith("shapes  bias is new: taken as [M, N]") for line in lines] == [True] * told


def test_the_arithmetic_is_that_of_the_baseline(tmp_path: Path) -> None:
    project, texts = written(folder=tmp_path)
    assert project.operator.arithmetic == "reduction"
    product = texts["baseline"].replace("torch.softmax(x / temperature, dim=-1)", "x @ x")
    project.path("baseline").write_text(product)
    assert _own_definition(project, lambda _: None).operator.arithmetic == "product"


def test_what_is_wrong_with_the_baseline_names_the_file(tmp_path: Path) -> None:
    project, texts = written(folder=tmp_path)
    for text, said in ((texts["baseline"].replace("(x: ", "(*, x: "), "line 6: "), ("def softmax(:", "line 1: ")):
        project.path("baseline").write_text(text)
        with pytest.raises(ProjectError, match=rf"softmax_baseline\.py(: |, ){said}"):
            _own_definition(project, lambda _: None)
