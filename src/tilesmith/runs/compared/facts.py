"""The facts of one run side by side: what runs are compared by, and what a table of them holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tilesmith.errors import RunError
from tilesmith.records import Evaluation, Speedup
from tilesmith.runs.event_text import machine_text
from tilesmith.runs.journal import read_events
from tilesmith.runs.listing import ListedRun, read_run, require_whole
from tilesmith.runs.run_filter import DAMAGED
from tilesmith.runs.summary import CallCosts, RunSummary, summarize


@dataclass(frozen=True)
class RunFacts:
    """What a run was, what came of it and what it cost; null is what is not known."""

    run: str
    path: str
    task: str | None
    author: str | None
    model: str | None
    created: str | None
    status: str
    why: str
    device: str | None
    attempts: int | None = None
    """Kernels that were judged, each source once."""
    passed: int | None = None
    best: int | None = None
    score: float | None = None
    faster: bool | None = None
    candidate_ms: float | None = None
    """Median time of the best kernel."""
    speedup: dict[str, Speedup] = field(default_factory=dict)
    """Of the best kernel over each baseline, as it was measured last."""
    spent: CallCosts | None = None
    busy_s: float | None = None
    """Time of calls and verdicts."""
    task_sha256: str | None = None
    """Of the task's text."""


def read_facts(folder: Path) -> RunFacts:
    """Raises RunError where the run is damaged."""
    run = read_run(folder)
    require_whole(run)
    return run_facts(run, summarize(read_events(folder / "events.jsonl")))


def facts_or_problem(run: ListedRun) -> RunFacts:
    """A run that cannot be read keeps its row, with its head and what is wrong with it."""
    try:
        return read_facts(run.folder)
    except RunError as error:
        head = run.manifest
        return RunFacts(
            run=run.folder.name,
            path=str(run.folder),
            task=head.task if head else None,
            author=head.author if head else None,
            model=head.model if head else None,
            created=head.created if head else None,
            status=DAMAGED,
            why=str(error),
            device=None,
        )


def run_facts(run: ListedRun, summary: RunSummary) -> RunFacts:
    manifest = run.manifest
    assert manifest is not None
    judged = [one for one in summary.attempts if one.same_as is None]
    evaluation = best_evaluation(summary)
    timing = evaluation.timing if evaluation else None
    return RunFacts(
        run=run.folder.name,
        path=str(run.folder),
        task=manifest.task,
        author=manifest.author,
        model=manifest.model,
        created=manifest.created,
        status=run.status,
        why=summary.finished.why if summary.finished else manifest.why,
        device=machine_text(summary.survey) if summary.survey else None,
        attempts=len(judged),
        passed=sum(one.evaluation.passed for one in judged),
        best=summary.best.candidate.number if summary.best else None,
        score=summary.score,
        faster=summary.finished.faster if summary.finished else None,
        candidate_ms=timing.candidate_ms.p50 if timing else None,
        speedup=timing.speedup if timing else {},
        spent=summary.spent,
        busy_s=round(summary.busy_seconds, 3),
        task_sha256=manifest.task_sha256,
    )


def best_evaluation(summary: RunSummary) -> Evaluation | None:
    """Of the best kernel: that of its confirmation, where it passed one."""
    best = summary.best
    if best is None:
        return None
    confirmed = (one.evaluation for one in summary.confirmations if one.candidate == best.candidate.number)
    return next((one for one in confirmed if one.passed), best.evaluation)
