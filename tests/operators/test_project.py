"""operator.toml: what is written is read back, and what makes no sense is one line that names the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample_operators import BIAS_ADD, EVERY_FIELD

from tilesmith.errors import ProjectError
from tilesmith.operators.project import code_digest, passing, read_files, read_project, toml_text, write_project
from tilesmith.operators.records import KINDS, Operator, OperatorParameter, Project

TEXTS = {kind: f"# {kind}\nvalue = 1\n" for kind in KINDS}


@pytest.mark.parametrize("operator", [BIAS_ADD, EVERY_FIELD], ids=lambda one: one.name)
def test_what_is_written_is_read_back(operator: Operator, tmp_path: Path) -> None:
    project = passing(Project(tmp_path / "deep" / operator.name, operator), TEXTS)
    write_project(project)
    assert read_project(project.folder) == project


def test_a_signature_is_what_follows_def() -> None:
    assert BIAS_ADD.signature == "bias_add(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor"
    assert EVERY_FIELD.signature == (
        "pick(x: torch.Tensor, target: torch.Tensor, count: int, alpha: float = 1.5, flag: bool = False, "
        "reduction: str = 'me\"an') -> tuple[torch.Tensor, torch.Tensor]"
    )
    assert EVERY_FIELD.size_names == ("...", "C")


@pytest.mark.parametrize(
    ("line", "instead", "complaint"),
    [
        ('name = "bias_add"\n', "", "name is missing"),
        ("format = 1", "format = 2", "format 2 is not 1; another tilesmith wrote it"),
        ("format = 1", "format = ", "cannot be read: Invalid value (at line 1, column 10)"),
        ('name = "bias_add"', 'name = "bias-add"', "'bias-add' is no name for a Python function"),
        ('"float16"', '"half"', "dtype 'half' is none of float32, float16, bfloat16, "),
        ('arithmetic = "rounding"', 'arithmetic = "loose"', "arithmetic 'loose' is none of exact, rounding"),
        ("{M = 1, N = 1}", "{M = 1}", "shapes: {'M': 1} has no N"),
        ('shape = ["M", "N"]', 'shape = ["M", "..."]', "x: '...' stands first in a shape or not at all"),
        ('kind = "tensor"', 'kind = "thing"', "x: kind 'thing' is neither tensor nor scalar"),
        ('kind = "tensor"', 'sort = "tensor"', "'sort' is none of name, "),
        ("target = 1.0", "taget = 3.0", "'taget' is none of format, "),
        ("{M = 1, N = 1}", "{M = 1.5, N = 1}", "shapes: M of {'M': 1.5, 'N': 1} is no size: "),
        ("{M = 1, N = 1}", "{M = 1, N = 1, K = 1}", "shapes: no tensor has the size K of "),
        ('shape = ["N"]', "shape = [0]", "bias: 0 is no size: "),
        ("[shapes]", "[sizes]", "shapes is missing"),
        ("target = 1.0", 'target = "fast"', "target must be a number, as 1.2, not 'fast'"),
        ('dtypes = ["float32", "float16", "bfloat16"]', 'dtypes = "float32"', "dtypes must be a list, as ["),
        ('shape = ["N"]', 'shape = "N"', "bias: shape must be a list, as "),
        (
            "accuracy = [",
            "accuracy = [1, ",
            "accuracy must be a list, as [{M = 37, N = 53}], not [1, {'M': 1, 'N': 1}",
        ),
        ('summary = "x plus a bias for each column"', "summary = 3", "summary must be a text, not 3"),
        ("[shapes]", "[passed]\ntriton = 3\n[shapes]", "passed must be a table of texts, not {'triton': 3}"),
        ('history = "history.md"', 'history = "../h.md"', "history is the name of a file in the project's folder"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(line: str, instead: str, complaint: str, tmp_path: Path) -> None:
    text = toml_text(Project(tmp_path, BIAS_ADD))
    assert line in text
    (tmp_path / "operator.toml").write_text(text.replace(line, instead, 1))
    with pytest.raises(ProjectError) as raised:
        read_project(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / 'operator.toml'}: {complaint}")
    assert "\n" not in str(raised.value)


def test_a_folder_without_operator_toml_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"no operator project \(it has no operator.toml\)"):
        read_project(tmp_path)


def test_the_missing_file_is_named(tmp_path: Path) -> None:
    project = Project(tmp_path, BIAS_ADD)
    for kind in KINDS[:-1]:
        project.path(kind).write_text(TEXTS[kind])
    with pytest.raises(ProjectError, match=r"^bias_add_performance\.py is missing from "):
        read_files(project)
    project.path("performance").write_text(TEXTS["performance"])
    assert read_files(project) == TEXTS


def test_a_digest_is_of_the_code_alone() -> None:
    assert code_digest("x = 1  # one\n") == code_digest("x  =  1\n")
    assert code_digest("x = 1\n") != code_digest("x = 2\n")
    assert code_digest("x = (") != code_digest("x = [")


def test_a_scalar_and_a_tensor_differ() -> None:
    alpha = OperatorParameter("alpha", "float", "scalar")
    with pytest.raises(ProjectError, match="alpha: a scalar has no shape"):
        replace(BIAS_ADD, parameters=(*BIAS_ADD.parameters, replace(alpha, shape=("N",))))
    with pytest.raises(ProjectError, match="no parameter is a tensor"):
        replace(BIAS_ADD, parameters=(alpha,))
