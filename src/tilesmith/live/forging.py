"""One forge, from Python: a task in, the best verified kernel out. No torch here."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from tilesmith.authors.author_choice import make_author
from tilesmith.forge.judge_evaluator import JudgeEvaluator
from tilesmith.forge.recorded_effects import Activity
from tilesmith.forge.run_specification import RunSpecification, begin_run
from tilesmith.forge.runner import run_forge
from tilesmith.judge import Judge
from tilesmith.live.optimization_settings import Config
from tilesmith.playbook import EVAL_ADVICE, LLM_ADVICE, find_match
from tilesmith.playbook.recipe import Declined
from tilesmith.records import Evaluation, Event
from tilesmith.runs.event_text import describe_event
from tilesmith.runs.summary import summarize
from tilesmith.tasks.source import read_task
from tilesmith.tasks.user_code.task_name import TaskName


@dataclass(frozen=True)
class ForgeResult:
    """How a forge ended."""

    why: str
    kernel: Path | None
    """The best verified kernel, as best.py; null when nothing passed."""
    evaluation: Evaluation | None
    """Of that kernel, as it was judged last."""
    faster: bool | None
    """Than every baseline; null where nothing was timed."""
    run: Path | None
    """The folder that holds everything; null when no recipe fitted and nothing was tried."""
    judged: Path | None = None
    """The same kernel word for word as it was judged, without the checks that best.py adds."""

    def beats(self, what: str) -> bool:
        """`all` baselines, or `eager` alone; nothing where it was not timed."""
        timing = self.evaluation.timing if self.evaluation else None
        if what == "eager" and timing is not None:
            return timing.speedup["eager"].low > 1
        return bool(self.faster)

    def __str__(self) -> str:
        return f"{self.why}\n{self.kernel}" if self.kernel else self.why


def run_one(task: TaskName, config: Config, judge: Judge | None = None) -> ForgeResult:
    """Raises TilesmithError for what is not a kernel's fault. Where no recipe fits, the playbook is not run.

    `judge` is one of the same configuration that the caller opened and will close.
    """
    read_task(task)  # what is wrong with it is told before a process starts
    specification = RunSpecification(task, config.author(), config.check(), config.settings())
    evaluator = JudgeEvaluator(task, specification.check, specification.settings.sanitize, judge)
    with contextlib.closing(evaluator):
        if specification.author.kind == "playbook":
            match = find_match(evaluator.survey())
            if isinstance(match, Declined):
                return ForgeResult(in_python(match.reason), None, None, None, None)
        with contextlib.closing(begin_run(specification, config.runs_folder)) as run:
            tuner = evaluator.tuner(specification.settings.tuning_s)
            author = make_author(specification.author, config.tell, tuner)
            finished = run_forge(run, author, evaluator, specification.settings, _Listener(config))
            summary = summarize(run.journal)
    if summary.best is None:
        return ForgeResult(finished.why, None, None, None, run.path)
    confirmed = [one for one in summary.confirmations if one.candidate == finished.best and one.evaluation.timing]
    evaluation = confirmed[-1].evaluation if confirmed else summary.best.evaluation
    judged = run.kernel_path(summary.best.candidate)
    return ForgeResult(finished.why, run.path / "best.py", evaluation, finished.faster, run.path, judged)


def in_python(reason: str) -> str:
    """What the playbook advises, in the words of this API rather than of the command line."""
    reason = reason.replace(EVAL_ADVICE, "if it is for inference, call model.eval() before")
    return reason.replace(LLM_ADVICE, "name an LLM with Config(model=...) to have it write one")


class _Listener:
    """Hands a run's events on as lines."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def activity_changed(self, activity: Activity) -> None:
        pass

    def event_recorded(self, event: Event) -> None:
        self._config.tell(describe_event(event))
