"""Writing the page of a suite."""

from __future__ import annotations

from pathlib import Path

from tilesmith.report.page import write_template
from tilesmith.suite.page.plots import plots_of_suite
from tilesmith.suite.page.view import BASELINE_NAMES, suite_view
from tilesmith.suite.records import Suite


def write_suite_page(suite: Suite, path: Path) -> None:
    """In one step. Links lead to what is there in the page's own folder. Raises RunError where it cannot be
    written."""
    view, plots = suite_view(suite, path.parent), plots_of_suite(suite)
    write_template(path, "suite.html.j2", view=view, plots=plots, baselines=BASELINE_NAMES)
