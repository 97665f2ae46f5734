"""What a user wrote by hand outlives op new, --update and op check."""

from __future__ import annotations

from pathlib import Path

import pytest
from workshop_tools import example, workshop

from tilesmith.errors import UsageError
from tilesmith.judge import Judge
from tilesmith.operators.making import make_project


@pytest.mark.parametrize("kind", ["triton", "accuracy"])
def test_a_new_project_replaces_no_file(kind: str, tmp_path: Path, judge: Judge) -> None:
    mine = tmp_path / f"bias_add_{kind}.py"
    mine.write_text("mine\n")
    with pytest.raises(UsageError, match=rf"bias_add_{kind}\.py is there already: move it away"):
        make_project(example("bias_add"), tmp_path, workshop(tmp_path, judge))
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    assert mine.read_text() == "mine\n"
