"""Writing the page of a run, of one that has just ended, and of a single verdict."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tilesmith.records import Evaluation
from tilesmith.report.page import write_page
from tilesmith.report.run_view import read_report_run, report_view, verdict_source
from tilesmith.report.view import ReportView

REPORT_NAME = "report.html"


def write_run_report(folder: Path, path: Path | None = None) -> ReportView:
    """To `path`, or into the run's own folder."""
    path = path or folder / REPORT_NAME
    view = report_view(read_report_run(folder))
    write_page(view, path)
    return view


def write_verdict_report(path: Path, task: str, kernel: Path, evaluation: Evaluation) -> None:
    created = datetime.now(UTC).isoformat()
    write_page(report_view(verdict_source(task, kernel, evaluation, created)), path)
