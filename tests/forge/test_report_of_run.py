"""Every run ends with its page, and a page that cannot be written costs nothing but a line in the log."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from marked_kernels import ListAuthor, MarkedEvaluator, RecordingObserver, analysis, forged, kernel

from tilesmith.errors import RunError
from tilesmith.forge.runner import run_forge, write_report
from tilesmith.forge.settings import ForgeSettings
from tilesmith.runs import RunFolder

SETTINGS = ForgeSettings(seeds=1, rounds=1, stages="none", repairs=1)
REPLIES = {"seed": [kernel("passed 0.6", "a")], "analyze": [analysis()], "optimize": [kernel("passed 1.4", "b")]}


def test_the_page_is_written_at_the_end_and_again_at_a_resume(tmp_path: Path) -> None:
    folder = forged(tmp_path, REPLIES, SETTINGS).run.path
    page = folder / "report.html"
    first = page.read_text()
    assert "kernel 2" in first
    page.unlink()
    with contextlib.closing(RunFolder(folder)) as run:
        run_forge(run, ListAuthor({}), MarkedEvaluator(), SETTINGS, RecordingObserver())
    assert page.read_text() == first
    assert "report  not written" not in (folder / "log.txt").read_text()


def test_a_run_that_stops_has_a_page_too(tmp_path: Path) -> None:
    folder = forged(tmp_path, REPLIES, SETTINGS).run.path
    (folder / "report.html").unlink()
    journal = folder / "events.jsonl"
    journal.write_text(journal.read_text().replace('"phase": "analyze"', '"phase": "repair"'))
    with contextlib.closing(RunFolder(folder)) as run, pytest.raises(RunError, match="does not fit"):
        run_forge(run, ListAuthor({}), MarkedEvaluator(), SETTINGS, RecordingObserver())
    assert "(stopped)" in (folder / "report.html").read_text()


def test_a_page_that_cannot_be_written_is_a_line_in_the_log(tmp_path: Path) -> None:
    run = forged(tmp_path, REPLIES, SETTINGS).run
    (run.path / "report.html").unlink()
    (run.path / "report.html").mkdir()
    with contextlib.closing(RunFolder(run.path)) as again:
        write_report(again)
    notes = [line for line in (run.path / "log.txt").read_text().splitlines() if "report" in line]
    assert len(notes) == 1
    assert "report  not written: RunError:" in notes[0]
    assert "the report cannot be written: Is a directory; name another file" in notes[0]
