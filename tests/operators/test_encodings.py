"""Files are UTF-8, with a byte order mark or without, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_operators import BIAS_ADD

from tilesmith.errors import ProjectError
from tilesmith.operators.definition import read_definition
from tilesmith.operators.project import read_files, read_project, toml_text
from tilesmith.operators.records import KINDS, Project

TEXT = "def bias_add(x): return x  # \u00e9\r\n"


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "operator.toml").write_text(toml_text(Project(tmp_path, BIAS_ADD)), encoding="utf-8-sig")
    project = read_project(tmp_path)
    for kind in KINDS:
        project.path(kind).write_bytes(TEXT.encode("utf-8-sig"))
    assert set(read_files(project).values()) == {TEXT.replace("\r\n", "\n")}
    assert read_definition(project.path("baseline"), "bias_add").operator.name == "bias_add"


@pytest.mark.parametrize("cookie", ["# -*- coding: latin-1 -*-", "#\n# vim: set fileencoding=utf-7 :"])
def test_another_encoding_is_refused(cookie: str, tmp_path: Path) -> None:
    project = Project(tmp_path, BIAS_ADD)
    for kind in KINDS:
        project.path(kind).write_text("value = 1\n")
    project.path("triton").write_text(f"{cookie}\nvalue = 1\n")
    with pytest.raises(ProjectError, match=r"bias_add_triton\.py: it is declared to be .*; save it in UTF-8"):
        read_files(project)
