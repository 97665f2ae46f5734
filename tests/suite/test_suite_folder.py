"""Which suite a folder takes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sample_suite import SPECIFICATION, row

from tilesmith.config import CheckConfig
from tilesmith.errors import RunError, UsageError
from tilesmith.suite.folder import SuiteFolder
from tilesmith.suite.records import Job
from tilesmith.tasks.user_code.task_name import TaskName


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    for name in ("log.txt", "suite.csv"):
        (tmp_path / "out" / name).mkdir(parents=True)
        with pytest.raises(RunError, match="out: cannot be written: Is a directory; make room, or see --out"):
            SuiteFolder(tmp_path / "out", SPECIFICATION, [])
        (tmp_path / "out" / name).rmdir()


def test_a_folder_takes_another_suite_until_something_was_done(tmp_path: Path) -> None:
    jobs = [Job("a", TaskName("a.py"), "a")]
    other = replace(SPECIFICATION, check=CheckConfig(timeout_s=7))
    with closing(SuiteFolder(tmp_path / "out", SPECIFICATION, jobs)):
        pass
    with closing(SuiteFolder(tmp_path / "out", other, jobs)) as folder:
        folder.add(row("a"), 1.0)
    with pytest.raises(UsageError, match="holds a suite with another --timeout; name another folder"):
        SuiteFolder(tmp_path / "out", SPECIFICATION, jobs)
