"""The pages beside those of runs: the list, two runs side by side, and a sentence on what cannot be shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tilesmith.errors import UsageError
from tilesmith.records import Attempt, Verdict
from tilesmith.report.page import ServedPage, page_environment, page_file, page_policy, render, served_script
from tilesmith.report.source_text import LONGEST_SOURCE, shown_diff
from tilesmith.runs.compared.comparison import RunComparison
from tilesmith.runs.compared.comparison_text import comparison_rows, conclusions
from tilesmith.runs.event_text import score_text
from tilesmith.runs.listing import ListedRun
from tilesmith.runs.run_filter import STATUSES, RunFilter

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_RUNS = 500
"""Rows of the list."""


def served_policy() -> str:
    more = ("connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'")
    return page_policy((page_file("report.css"), _own_style()), served_script(), *more)


def run_address(name: str) -> str:
    return f"/runs/{quote(os.fsencode(name))}/"


def wanted_runs(asked: Mapping[str, str]) -> RunFilter:
    """The filter that the form describes; raises UsageError where it makes no sense."""
    given = {name: text.strip() or None for name, text in asked.items()}
    speedup = given.get("min_speedup")
    try:
        least = float(speedup) if speedup else None
    except ValueError:
        raise UsageError(f"speedup '{speedup}': not a number; write for example 1.2") from None
    names = ("task", "status", "verdict", "words")
    return RunFilter(min_speedup=least, **{name: given.get(name) for name in names})  # type: ignore[arg-type]


def render_list(runs: list[ListedRun], asked: Mapping[str, str], problem: str, news: str) -> str:
    choices = {"statuses": STATUSES, "verdicts": list(Verdict), "asked": asked, "problem": problem}
    return _render("runs.html.j2", news, runs=runs[:MOST_RUNS], count=len(runs), **choices)


def render_comparison(found: RunComparison, kernels: tuple[Attempt | None, Attempt | None]) -> str:
    """The best kernels are compared where both runs have one."""
    rows, first, second = list(comparison_rows(found)), *kernels
    changes = None
    if first is not None and second is not None:
        changes = shown_diff(first.candidate.source, second.candidate.source, LONGEST_SOURCE)
    told = conclusions(found)
    shown = [row for row in rows[1:] if row[1] or row[2]]
    return _render("compare.html.j2", found=found, rows=shown, conclusions=told, changes=changes)


def render_message(title: str, text: str) -> str:
    return _render("message.html.j2", title=title, text=text)


def _render(template: str, news: str | None = None, **facts: Any) -> str:
    return render(template, facts, ServedPage(news, _own_style()), _environment())


def _own_style() -> str:
    return page_file("serve.css", "tilesmith.serve")


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, PackageLoader

    loaders = [PackageLoader(f"tilesmith.{package}", "templates") for package in ("serve", "report")]
    made = page_environment().overlay(loader=ChoiceLoader(loaders))
    made.filters.update(address=run_address, score=score_text)
    return made
