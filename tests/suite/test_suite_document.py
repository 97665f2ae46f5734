"""The files of a suite: written, read again, and refused where they are damaged."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from sample_suite import SPECIFICATION, many_rows, row, suite_of

from tilesmith.errors import RunError
from tilesmith.suite.document import read_suite, suite_document, suite_text
from tilesmith.suite.folder import SuiteFolder
from tilesmith.suite.records import Job, JobOutcome
from tilesmith.suite.running import describe_row
from tilesmith.suite.table import COLUMNS, suite_csv
from tilesmith.tasks.user_code.task_name import TaskName


def test_a_suite_comes_back_as_it_was(tmp_path: Path) -> None:
    suite = suite_of(
        *many_rows(40), row("s", sample=3, level="x"), left=("t",), why_unfinished="Ctrl-C", seconds=7.5
    )
    (tmp_path / "suite.json").write_text(suite_text(suite))
    assert read_suite(tmp_path) == read_suite(tmp_path / "suite.json") == suite
    written = json.loads((tmp_path / "suite.json").read_text())
    assert written == json.loads(json.dumps(suite_document(suite)))
    assert written["statistics"]["left"] == 1
    assert written["statistics"]["whole"]["speed"]["eager"]["fast_1"] is not None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read as a suite"),
        ("[]", "cannot be read as a suite"),
        ("{}", "cannot be read as a suite: no 'format_version'"),
        ('{"format_version": 99}', r"written by a newer tilesmith \(format 99\); update tilesmith"),
        ('{"format_version": 1}', "is damaged"),
    ],
)
def test_what_is_no_suite_is_refused_in_a_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "suite.json").write_text(text)
    with pytest.raises(RunError, match=told) as caught:
        read_suite(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"), [("score", "fast"), ("outcome", "won"), ("speedup", {"eager": 2}), ("tokens", None)]
)
def test_a_damaged_row_is_refused(tmp_path: Path, field: str, value: object) -> None:
    data = json.loads(suite_text(suite_of(row("a", eager=2.0))))
    data["rows"][0][field] = value
    (tmp_path / "suite.json").write_text(json.dumps(data))
    with pytest.raises(RunError, match="is damaged"):
        read_suite(tmp_path)


def test_a_name_that_is_no_text_ends_no_suite(tmp_path: Path) -> None:
    name = os.fsdecode(b"bad\xff\n")
    with contextlib.closing(SuiteFolder(tmp_path, SPECIFICATION, [Job(name, TaskName("bad.py"), name)])) as folder:
        done = replace(row(name), key=name, why=name)
        folder.add(done, 1.0)
        folder.log(describe_row(done))
        folder.publish("")
    assert read_suite(tmp_path).rows == (done,)
    with contextlib.closing(SuiteFolder(tmp_path, SPECIFICATION, folder.jobs)) as again:
        assert again.unfinished() == []
    assert "bad" in (tmp_path / "log.txt").read_text().splitlines()[0]


def test_a_folder_without_a_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a suite"):
        read_suite(tmp_path)


def test_the_table_has_a_row_for_each_job_and_no_formula() -> None:
    rows = (
        row("a", eager=3.0, dollars=None, error_ratio=0.5, run="run-a"),
        row("=1+1", JobOutcome.FAILED, why='=HYPERLINK("http://example.org")\nsecond line', sample=2),
    )
    first, second = csv.DictReader(io.StringIO(suite_csv(suite_of(*rows))))
    assert list(first) == list(COLUMNS)
    assert (first["eager_speedup"], first["compile_high"], first["graph_low"]) == ("3.0", "1.6500000000000001", "")
    assert (first["score"], first["dollars"], first["run"]) == ("1.5", "", "run-a")
    assert (second["task"], second["sample"], second["outcome"]) == ("'=1+1", "2", "failed")
    assert second["why"] == '\'=HYPERLINK("http://example.org") second line'
