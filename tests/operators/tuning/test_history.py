"""history.md only grows, and is never half of itself."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tilesmith.errors import ProjectError
from tilesmith.operators.records import Operator, OperatorParameter
from tilesmith.operators.tuning.history import HistoryRow, append_rows

ROWS = [HistoryRow("BLOCK 1024", {"M=1": 1.5}, 1.5, "fast")]
SLOWER = [HistoryRow("BLOCK 512", {"M=1": 1.2}, 1.2, "slower")]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.md"
    append_rows(path, "plus", "first", ROWS)
    before = path.read_text()

    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        append_rows(path, "plus", "second", SLOWER)
    assert path.read_text() == before
    monkeypatch.undo()
    append_rows(path, "plus", "second", SLOWER)
    assert path.read_text().startswith(before)
    assert "## second" in path.read_text()


def test_history_is_none_of_the_other_files() -> None:
    operator = Operator("plus", (OperatorParameter("x", shape=("N",)),))
    with pytest.raises(ProjectError, match=r"history is the name of a file .*, and ends in \.md"):
        replace(operator, history="plus_triton.py")
