"""A project without sizes to test on is refused where it is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample_operators import BIAS_ADD

from tilesmith.errors import ProjectError
from tilesmith.operators.definition import parse_definition
from tilesmith.operators.project import read_project, toml_text
from tilesmith.operators.records import Project


@pytest.mark.parametrize("name", ["accuracy", "performance"])
def test_no_sizes_are_no_test(name: str, tmp_path: Path) -> None:
    (tmp_path / "operator.toml").write_text(toml_text(Project(tmp_path, replace(BIAS_ADD, **{name: ()}))))
    with pytest.raises(ProjectError, match=f"shapes: {name} is empty; name at least one"):
        read_project(tmp_path)
    with pytest.raises(ProjectError, match=f"shapes: {name} is empty; name at least one"):
        parse_definition(f"{name.upper()} = []\ndef f(x): return x\n", "f")
