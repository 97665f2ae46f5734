"""operator.toml from the other files, where it is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tilesmith.errors import ProjectError
from tilesmith.operators.definition import parse_definition
from tilesmith.operators.project import code_digest
from tilesmith.operators.recovering import recover_project
from tilesmith.operators.writing import accuracy_text, baseline_text, performance_text

DEFINITION = '''import torch
SHAPES = {"x": ["...", "C", 4], "target": ["..."]}
INDICES = {"target": "C"}
VALUES = {"scale": -2.0}
DTYPES = ["float32", "int32"]
ACCURACY = [{"...": [], "C": 5}, {"...": [2, 3], "C": 7}]
PERFORMANCE = [{"...": [4096], "C": 1024}]
TARGET = 1.25
def picked(x: torch.Tensor, target: torch.Tensor, scale: float, k: int = 3) -> torch.Tensor:
    """The sum of what is picked."""
    return x.sum(-1).gather(-1, target[..., None]) * scale + k
'''


@pytest.mark.parametrize("fixed", [False, True])
def test_what_the_files_say_is_what_operator_toml_said(fixed: bool, tmp_path: Path) -> None:
    definition = parse_definition(DEFINITION, "picked")
    operator = definition.operator
    parameters = tuple(replace(one, fixed=fixed and one.name == "scale") for one in operator.parameters)
    baseline = baseline_text(definition)
    operator = replace(operator, parameters=parameters, baseline=code_digest(baseline))
    texts = {"baseline": baseline, "accuracy": accuracy_text(operator), "performance": performance_text(operator)}
    for kind, text in texts.items():
        (tmp_path / operator.file_name(kind)).write_text(text)
    assert recover_project(tmp_path, "picked").operator == operator


def test_without_a_baseline_there_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="no operator project"):
        recover_project(tmp_path, "picked")
