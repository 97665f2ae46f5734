"""The runs that a study is made of. Each is a run in the runs folder, and one that is there already is not made
again: a study that was stopped goes on when it is asked for once more."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tilesmith.authors.author_choice import AuthorChoice, as_replay, make_author
from tilesmith.authors.protocol import Author
from tilesmith.config import CheckConfig
from tilesmith.errors import RunError, TilesmithError, UsageError
from tilesmith.forge.judge_evaluator import JudgeEvaluator
from tilesmith.forge.recorded_effects import Activity, KernelEvaluator
from tilesmith.forge.run_specification import RunSpecification, begin_run, read_specification
from tilesmith.forge.runner import run_forge
from tilesmith.records import AttemptEvent, Event, FinishedEvent, RefusalEvent, from_json
from tilesmith.runs import RunFolder, Status
from tilesmith.runs.digest import text_digest
from tilesmith.runs.event_text import describe_event
from tilesmith.runs.listing import ListedRun, list_runs
from tilesmith.runs.run_filter import DAMAGED
from tilesmith.study.study_author import Refusal, StudyAuthor, everything
from tilesmith.tasks.source import read_task
from tilesmith.tasks.user_code.task_name import TaskName

Notify = Callable[[str], None]


@dataclass(frozen=True)
class PlannedRun:
    """One run that a study wants; its place in the study stands in the specification."""

    specification: RunSpecification
    refusal: Refusal = everything
    first_seed: int = 1


class StudyEquipment(Protocol):
    """Who writes and who judges the runs of a study. The real one is `JudgedEquipment`."""

    def author(self, choice: AuthorChoice) -> Author: ...

    def evaluator(self, task: TaskName, check: CheckConfig) -> KernelEvaluator: ...


class JudgedEquipment:
    """Real authors and the real judge, which is kept from run to run as long as the task is the same."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._open: tuple[TaskName, CheckConfig, JudgeEvaluator] | None = None

    def author(self, choice: AuthorChoice) -> Author:
        """The playbook measures nothing before it writes: its guesses are what is studied."""
        return make_author(choice, self._notify)

    def evaluator(self, task: TaskName, check: CheckConfig) -> KernelEvaluator:
        if self._open is None or self._open[:2] != (task, check):
            self.close()
            self._open = (task, check, JudgeEvaluator(task, check))
        return self._open[2]

    def close(self) -> None:
        if self._open is not None:
            self._open[2].close()
            self._open = None


def carry_out(
    plans: Iterable[PlannedRun], folder: Path, equipment: StudyEquipment, notify: Notify
) -> Iterator[Path]:
    """The folder of each planned run once it has ended, in the order of the plans."""
    known = [run for run in list_runs(folder) if run.status != DAMAGED and run.manifest and run.manifest.study]
    for plan in plans:
        found = _find(plan.specification, known)
        if found is not None and found.status == Status.FINISHED:
            notify(f"{plan.specification.study}: {found.folder.name} is there already")
            yield found.folder
        else:
            yield _make(plan, found, folder, equipment, notify)


def recorded_runs(folder: Path, task: TaskName) -> list[ListedRun]:
    """The runs of this very task, oldest first, for a study that repeats them."""
    source = read_task(task)
    digest = text_digest(source.text)
    whole = (run for run in list_runs(folder) if run.status != DAMAGED)
    found = [run for run in whole if run.manifest and run.manifest.task_sha256 == digest]
    if not found:
        raise UsageError(f"--replay {folder}: no runs of {source.name} in there, or of another version of it")
    return found[::-1]


def replayed(recorded: ListedRun) -> AuthorChoice:
    """The author of a recorded run, as one that repeats itself."""
    assert recorded.manifest is not None
    try:
        choice = from_json(AuthorChoice, recorded.manifest.configuration["author"])
    except (KeyError, ValueError) as error:
        raise RunError(f"{recorded.folder / 'run.json'}: its configuration is damaged: {error}") from None
    return as_replay(choice, recorded.folder)


def _find(wanted: RunSpecification, known: list[ListedRun]) -> ListedRun | None:
    """One that has ended before one that has not."""
    found = [run for run in known if run.manifest and run.manifest.study == wanted.study and _is_of(run, wanted)]
    return min(found, key=lambda run: run.status != Status.FINISHED, default=None)


def _is_of(run: ListedRun, wanted: RunSpecification) -> bool:
    try:
        recorded = read_specification(run.folder)
    except TilesmithError:
        return False  # of another version of the task, or damaged
    return _essence(recorded) == _essence(wanted)


def _essence(one: RunSpecification) -> tuple[object, ...]:
    """What makes two runs comparable: not how often a call is retried, nor where modules were looked for."""
    author, task = one.author, one.task.absolute()
    return task.target, task.inputs, author.kind, author.endpoint, author.recorded, one.check, one.settings


def _make(
    plan: PlannedRun, found: ListedRun | None, folder: Path, equipment: StudyEquipment, notify: Notify
) -> Path:
    """Begin the run, or go on with it."""
    specification = plan.specification
    opened = RunFolder(found.folder) if found else begin_run(specification, folder)
    with contextlib.closing(opened) as run:
        notify(f"{specification.study}: {'going on with ' if found else ''}{run.path.name}")
        author = StudyAuthor(equipment.author(specification.author), plan.refusal, plan.first_seed)
        evaluator = equipment.evaluator(specification.task, specification.check)
        try:
            run_forge(run, author, evaluator, specification.settings, _StudyObserver(specification.study, notify))
        except KeyboardInterrupt:
            raise RunError(f"interrupted{_hint(run)}") from None
        except TilesmithError as error:
            raise type(error)(f"{error}{_hint(run)}") from None
    return run.path


def _hint(run: RunFolder) -> str:
    """A run in which nothing has happened yet is not worth keeping."""
    if not list(run.journal):
        shutil.rmtree(run.path, ignore_errors=True)
    return "; what was done is kept: the same command goes on"


class _StudyObserver:
    """Tells of kernels and of how runs end, in a line each."""

    def __init__(self, place: str, notify: Notify) -> None:
        self._place, self._notify = place, notify

    def activity_changed(self, activity: Activity) -> None:
        pass

    def event_recorded(self, event: Event) -> None:
        if isinstance(event, AttemptEvent | RefusalEvent | FinishedEvent):
            self._notify(f"{self._place}: {describe_event(event)}")


def in_place(specification: RunSpecification, study: str, author: AuthorChoice | None = None) -> RunSpecification:
    """The same specification in another place of the study, by another author where one is given."""
    return replace(specification, study=study, author=author or specification.author)
