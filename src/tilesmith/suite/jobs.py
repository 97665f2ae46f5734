"""One job from beginning to end: a task is forged in a run of its own, or a kernel of somebody's is judged."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tilesmith.authors.author_choice import make_author
from tilesmith.authors.protocol import Tuner
from tilesmith.config import CheckConfig
from tilesmith.errors import (
    AuthorError,
    MachineError,
    NotJudgedHere,
    OutOfGpuMemory,
    ReferenceTooSlow,
    RunError,
    TilesmithError,
)
from tilesmith.forge.judge_evaluator import JudgeEvaluator
from tilesmith.forge.ranking import score_of
from tilesmith.forge.recorded_effects import Activity, KernelEvaluator
from tilesmith.forge.run_specification import RunSpecification, begin_run, read_specification
from tilesmith.forge.runner import run_forge
from tilesmith.judge.judge import AnyTask
from tilesmith.judge.warm_judges import WarmJudges
from tilesmith.records import Evaluation, Event, to_json
from tilesmith.runs import RunFolder, Status
from tilesmith.runs.atomic_files import write_atomically
from tilesmith.runs.compared.facts import best_evaluation, read_facts
from tilesmith.runs.event_text import one_line
from tilesmith.runs.journal import read_events, salvage_events
from tilesmith.runs.listing import run_folders
from tilesmith.runs.manifest import read_manifest
from tilesmith.runs.summary import RunSummary, summarize
from tilesmith.suite.allowance import Allowance, AllowedAuthor, SuiteStopped
from tilesmith.suite.records import Job, JobOutcome, Row, SuiteSpecification
from tilesmith.tasks.source import read_task

_PLACE = "suite "
"""How the run of a job says where it belongs, before the job's key."""


class Evaluator(KernelEvaluator, Protocol):
    """Who judges the kernels of one task, here or on another machine."""

    def tuner(self, limit_s: float) -> Tuner | None: ...


@dataclass(frozen=True)
class Work:
    """What is judged, and how: one task's kernels."""

    task: AnyTask
    check: CheckConfig
    sanitizes_winner: bool = False


OpenEvaluator = Callable[[Work], contextlib.AbstractContextManager[Evaluator]]


@dataclass(frozen=True)
class Workplace:
    """Where jobs are done: the folder of their runs, what they may spend, and who judges."""

    runs: Path
    allowance: Allowance
    evaluator: OpenEvaluator
    notify: Callable[[str], None]
    begun: dict[str, list[Path]]
    """The runs that there are already, by the key of their job."""


def carry_out(job: Job, specification: SuiteSpecification, workplace: Workplace) -> Row:
    """The row of a job. Whatever is wrong with it becomes part of the row; SuiteStopped and AuthorError, which
    concern the whole suite, are raised."""
    began = time.monotonic()
    work = forge_job if job.kernel is None else judge_job
    for may_fail_again in (True, False):
        workplace.allowance.require_more()
        try:
            row = work(job, specification, workplace)
            break
        except (SuiteStopped, AuthorError):
            raise
        except (NotJudgedHere, OutOfGpuMemory, ReferenceTooSlow) as error:
            row = _error_row(job, str(error))
            break
        except MachineError as error:  # the next try has processes of its own
            row = _error_row(job, str(error))
            if may_fail_again and not workplace.allowance.why_stopped:
                workplace.notify(f"{one_line(job.key)}: once more, because the machine failed: {error}")
        except TilesmithError as error:
            row = _error_row(job, str(error))
            break
        except Exception as error:
            row = _error_row(job, f"our own failure: {type(error).__name__}: {error}")
            break
    if row.outcome is JobOutcome.ERROR and job.kernel is None:
        row = _with_run(row, _begun_run(job, _run_specification(job, specification), workplace))
    return replace(row, seconds=round(time.monotonic() - began, 1))


def forge_job(job: Job, specification: SuiteSpecification, workplace: Workplace) -> Row:
    """The run of a task, begun, gone on with, or found finished."""
    with contextlib.closing(_open_run(job, specification, workplace)) as run:
        if run.manifest.status is Status.FINISHED:
            return row_of_run(job, run.path)
        wanted = _run_specification(job, specification)
        with workplace.evaluator(Work(job.task, wanted.check, wanted.settings.sanitize)) as evaluator:
            tuner = evaluator.tuner(wanted.settings.tuning_s)
            author = make_author(wanted.author, lambda line: run.log(f"{job.key}: {line}"), tuner)
            allowed = AllowedAuthor(author, workplace.allowance)
            run_forge(run, allowed, evaluator, wanted.settings, _StoppableObserver(workplace.allowance))
    return row_of_run(job, run.path)


def judge_job(job: Job, specification: SuiteSpecification, workplace: Workplace) -> Row:
    """The verdict on somebody's kernel, kept as JSON in the folder of evaluations."""
    assert job.kernel is not None
    observer = _StoppableObserver(workplace.allowance)
    with workplace.evaluator(Work(job.task, specification.check)) as evaluator:
        evaluation = evaluator.evaluate(
            Path(job.kernel), lambda gate: observer.activity_changed(Activity("judge", detail=gate))
        )
    file = workplace.runs.with_name("evaluations") / f"{job.key}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps(to_json(evaluation), indent=2) + "\n")
    outcome = JobOutcome.PASSED if evaluation.passed else JobOutcome.FAILED
    return _with_evaluation(_row(job, outcome, evaluation.reason), evaluation)


@contextlib.contextmanager
def evaluator_here(judges: WarmJudges, work: Work) -> Iterator[JudgeEvaluator]:
    """The judge of this machine, shared with other jobs."""
    with judges.use(work.check) as judge:
        yield JudgeEvaluator(work.task, work.check, work.sanitizes_winner, shared=judge)


def row_of_run(job: Job, folder: Path) -> Row:
    """What a finished run comes to."""
    facts, summary = read_facts(folder), summarize(read_events(folder / "events.jsonl"))
    kept = summary.finished is not None and summary.finished.keeps_pytorch
    outcome = JobOutcome.KEPT if kept else JobOutcome.PASSED if facts.best is not None else JobOutcome.FAILED
    usage = summary.spent.usage
    row = replace(
        _row(job, outcome, facts.why),
        device=facts.device,
        attempts=facts.attempts or 0,
        tokens=usage.tokens,
        dollars=usage.dollars,
        run=folder.name,
    )
    evaluation = best_evaluation(summary) or _last_evaluation(summary)
    surveyed_on = summary.survey.environment.get("device") if summary.survey else None
    judged_on = evaluation.environment.get("device") if evaluation else None
    if judged_on not in (None, surveyed_on):  # a cluster has several kinds, and a run may move
        row = replace(row, device=str(judged_on))
    return _with_evaluation(row, evaluation) if evaluation is not None and not kept else row


def _last_evaluation(summary: RunSummary) -> Evaluation | None:
    return summary.attempts[-1].evaluation if summary.attempts else None


def _with_evaluation(row: Row, evaluation: Evaluation) -> Row:
    timing = evaluation.timing if evaluation.passed else None
    return replace(
        row,
        verdict=str(evaluation.verdict),
        score=score_of(evaluation),
        speedup=timing.speedup if timing else {},
        error_ratio=evaluation.errors.ratio if evaluation.errors else None,
        device=row.device or (timing.device if timing else evaluation.environment.get("device")),
    )


def _row(job: Job, outcome: JobOutcome, why: str) -> Row:
    return Row(job.key, job.task_key, job.level, job.sample, job.digest, outcome, None, why)


def _error_row(job: Job, why: str) -> Row:
    return _row(job, JobOutcome.ERROR, why)


def _with_run(row: Row, run: Path | None) -> Row:
    """What was spent on a run counts, although it ended in an error."""
    if run is None:
        return row
    summary = summary_of(run)
    usage, attempts = summary.usage, len(summary.attempts)
    return replace(row, attempts=attempts, tokens=usage.tokens, dollars=usage.dollars, run=run.name)


def summary_of(run: Path) -> RunSummary:
    """What is whole in its journal."""
    return summarize(salvage_events(run / "events.jsonl").events)


def begun_runs(runs: Path) -> dict[str, list[Path]]:
    """Of a suite's earlier sessions, by the key of their job. Only their heads are read."""
    begun: dict[str, list[Path]] = {}
    for folder in run_folders(runs):
        with contextlib.suppress(RunError):
            place = read_manifest(folder).study
            begun.setdefault(place.removeprefix(_PLACE), []).append(folder)
    return begun


def _open_run(job: Job, specification: SuiteSpecification, workplace: Workplace) -> RunFolder:
    """The run that was begun for this job, or a new one."""
    wanted = _run_specification(job, specification)
    read_task(job.task)  # says what is wrong with it before there is a folder
    begun = _begun_run(job, wanted, workplace)
    if begun is not None:
        return RunFolder(begun)
    run = begin_run(wanted, workplace.runs)
    workplace.begun.setdefault(job.key, []).append(run.path)
    return run


def _begun_run(job: Job, wanted: RunSpecification, workplace: Workplace) -> Path | None:
    return next((folder for folder in workplace.begun.get(job.key, []) if _is_of(folder, wanted)), None)


def _is_of(folder: Path, wanted: RunSpecification) -> bool:
    try:
        recorded = read_specification(folder)
    except TilesmithError:
        return False  # of another version of the task, or damaged
    return (recorded.check, recorded.settings) == (wanted.check, wanted.settings)


def _run_specification(job: Job, specification: SuiteSpecification) -> RunSpecification:
    assert specification.author is not None
    assert specification.settings is not None
    return RunSpecification(
        job.task, specification.author, specification.check, specification.settings, study=f"{_PLACE}{job.key}"
    )


class _StoppableObserver:
    """Ends a job at its next step once the suite is to stop."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    def activity_changed(self, activity: Activity) -> None:
        if not activity.characters:
            self._allowance.require_more()

    def event_recorded(self, event: Event) -> None:
        pass
