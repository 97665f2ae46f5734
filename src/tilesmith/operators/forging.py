"""The forge, asked for the kernel of an operator: a task in a temporary folder, the best verified text out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tilesmith.authors.author_choice import AuthorChoice, make_author
from tilesmith.config import CheckConfig
from tilesmith.forge.judge_evaluator import JudgeEvaluator
from tilesmith.forge.recorded_effects import Activity
from tilesmith.forge.run_specification import RunSpecification, begin_run
from tilesmith.forge.runner import run_forge
from tilesmith.forge.settings import ForgeSettings
from tilesmith.judge import Judge
from tilesmith.records import Event
from tilesmith.runs.event_text import describe_event
from tilesmith.runs.summary import summarize
from tilesmith.tasks.user_code.task_name import TaskName

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Workshop:
    """Who writes kernels, how hard they try, and where it is recorded."""

    author: AuthorChoice
    settings: ForgeSettings
    check: CheckConfig
    runs: Path
    tell: Tell = lambda _: None
    """What the user must know."""
    progress: Tell = lambda _: None
    """What is going on."""
    host: Judge | None = None
    """A judge that lends its fork servers."""


@dataclass(frozen=True)
class ForgedKernel:
    source: str | None
    """With ModelNew, as it was judged; null where there is none."""
    why: str
    keeps_pytorch: bool
    run: Path


def forge_kernel(task: Path, workshop: Workshop, judge: Judge) -> ForgedKernel:
    """Raises TilesmithError for what is no kernel's fault."""
    found = _forged(task, workshop, judge, workshop.settings.tuning_s)
    if found.keeps_pytorch and judge.device == "cuda":  # an operator is tuned later: what loses now may win then
        return _forged(task, workshop, judge, 0.0)
    return found


def _forged(task: Path, workshop: Workshop, judge: Judge, tuning_s: float) -> ForgedKernel:
    specification = RunSpecification(TaskName(str(task)), workshop.author, workshop.check, workshop.settings)
    evaluator = JudgeEvaluator(specification.task, workshop.check, workshop.settings.sanitize, judge)
    with (
        contextlib.closing(evaluator),
        contextlib.closing(begin_run(specification, workshop.runs)) as run,
    ):
        author = make_author(workshop.author, workshop.tell, evaluator.tuner(tuning_s))
        finished = run_forge(run, author, evaluator, workshop.settings, _EventTeller(workshop.progress))
        best = summarize(run.journal).best
        source = best.candidate.source if best and finished.best is not None else None
        return ForgedKernel(source, finished.why, finished.keeps_pytorch, run.path)


@dataclass(frozen=True)
class _EventTeller:
    """Hands a run's events on as lines."""

    tell: Tell

    def activity_changed(self, activity: Activity) -> None:
        pass

    def event_recorded(self, event: Event) -> None:
        self.tell(describe_event(event))
