"""Which runs somebody looks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tilesmith.errors import UsageError
from tilesmith.records import Verdict
from tilesmith.runs.manifest import Status

if TYPE_CHECKING:
    from tilesmith.runs.listing import ListedRun

INTERRUPTED, DAMAGED = "interrupted", "damaged"
STATUSES = (*map(str, Status), INTERRUPTED, DAMAGED)


@dataclass(frozen=True)
class RunFilter:
    """Which runs to list: all that fit everything given."""

    task: str | None = None
    """Part of the task's name, or a pattern such as 3?_GRU*."""
    status: str | None = None
    author: str | None = None
    """Part of the author's name."""
    since: str | None = None
    """YYYY-MM-DD."""
    faster: bool = False
    verdict: str | None = None
    """One of its kernels got this verdict."""
    min_speedup: float | None = None
    """Of the best kernel over its best baseline."""
    model: str | None = None
    """Part of the LLM's name, or a pattern."""
    words: str | None = None
    """Each occurs in the run's name, task, author, status, verdicts or end."""

    def __post_init__(self) -> None:
        if self.status is not None and self.status not in STATUSES:
            raise UsageError(f"unknown status '{self.status}': use {', '.join(STATUSES)}")
        if self.since is not None and not _is_date(self.since):
            raise UsageError(f"--since {self.since}: not a day; write YYYY-MM-DD")
        if self.verdict is not None and self.verdict not in list(Verdict):
            raise UsageError(f"unknown verdict '{self.verdict}': use {', '.join(Verdict)}")
        if self.min_speedup is not None and not self.min_speedup > 0:
            raise UsageError(f"a speedup of at least {self.min_speedup}: use a number greater than zero")

    def fits(self, run: ListedRun) -> bool:
        author = run.manifest.author if run.manifest else ""
        model = run.manifest.model if run.manifest else None
        return (
            (self.task is None or _matches(self.task, run.task))
            and (self.status is None or run.status == self.status)
            and (self.author is None or self.author.lower() in author.lower())
            and (self.since is None or run.created[:10] >= self.since)
            and (not self.faster or run.faster is True)
            and (self.verdict is None or self.verdict in run.judged)
            and (self.min_speedup is None or (run.score is not None and run.score >= self.min_speedup))
            and (self.model is None or (model is not None and _matches(self.model, model)))
            and (self.words is None or _has_words(run, self.words))
        )


def _has_words(run: ListedRun, words: str) -> bool:
    texts = [run.folder.name, run.task, run.status, run.problem, *run.judged]
    if run.manifest is not None:
        texts += [run.manifest.author, run.manifest.task_path, run.manifest.why]
    text = "\n".join(texts).lower()
    return all(word in text for word in words.lower().split())


def _matches(pattern: str, name: str) -> bool:
    pattern, name = pattern.lower(), name.lower()
    return fnmatchcase(name, pattern) if re.search(r"[*?\[]", pattern) else pattern in name


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
