"""A judge on another machine, in the place of one here. What is lost with its node is asked once more elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from tilesmith.authors.protocol import RankedTunings, Tuner
from tilesmith.errors import MachineError
from tilesmith.judge.machine.kernel_imports import files_of_kernel
from tilesmith.playbook.recipe import Match
from tilesmith.records import Evaluation, Survey
from tilesmith.suite.allowance import Allowance, SuiteStopped
from tilesmith.suite.cluster.judge_actor import KernelFiles
from tilesmith.suite.cluster.judges import ClusterJudges, PlacedJudge
from tilesmith.suite.jobs import Work
from tilesmith.tasks.source import TaskSource, read_task

_POLL_S = 0.5
_MOST_LOSSES = 5
"""So many judges in a row lost under one question: it may be what ends them."""


@dataclass
class JudgePlace:
    """The judge that a job asks from its beginning to its end, unless it is lost."""

    judges: ClusterJudges
    allowance: Allowance
    judge: PlacedJudge

    def replace_lost(self, error: Exception) -> None:
        self.judges.give_up(self.judge, error)
        another = self.judges.acquire(self.allowance, self.judge.node.kind)
        self.judges.release(self.judge)
        self.judge = another


@contextlib.contextmanager
def evaluator_on(place: JudgePlace, work: Work) -> Iterator[ClusterEvaluator]:
    task = work.task
    yield ClusterEvaluator(place, work if isinstance(task, TaskSource) else replace(work, task=read_task(task)))


class ClusterEvaluator:
    """Asks the judge of its place. The text of task and kernel goes along."""

    def __init__(self, place: JudgePlace, work: Work) -> None:
        self._place, self._work = place, work

    def survey(self) -> Survey:
        found: Survey = self._ask("survey")
        return found

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        found: Evaluation = self._ask("evaluate", _read(kernel), progress=progress)
        return found

    def confirm(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        found: Evaluation = self._ask("confirm", _read(kernel), progress=progress)
        return found

    def tuner(self, limit_s: float) -> Tuner | None:
        return _ClusterTuner(self, limit_s) if limit_s else None

    def rank(self, survey: Survey, limit_s: float, tell: Callable[[str], None]) -> RankedTunings:
        found: RankedTunings = self._ask("rank", survey, limit_s, progress=tell)
        return found

    def _ask(self, question: str, *about: Any, progress: Callable[[str], None] = lambda _: None) -> Any:
        for _ in range(_MOST_LOSSES):
            node = self._place.judge.node
            answer = getattr(self._place.judge.actor, question).remote(self._work, *about)
            try:
                while not ray.wait([answer], timeout=_POLL_S)[0]:
                    progress(f"on {node.name}")  # raises SuiteStopped once the suite is to end
                found = ray.get(answer)
                self._require_going_on()
                return found
            except RayTaskError as error:
                self._require_going_on()
                raise error.cause from None
            except RayError as error:
                self._place.allowance.require_more()
                self._place.replace_lost(error)
        raise MachineError(
            f"{_MOST_LOSSES} judges in a row were lost while they worked on this; the last on {node.title}"
        )

    def _require_going_on(self) -> None:
        """What a judge answers while it is being closed says nothing."""
        if self._place.allowance.why_stopped:
            raise SuiteStopped(self._place.allowance.why_stopped)


class _ClusterTuner:
    """Tunings are tried where kernels are judged; the match is found there again."""

    def __init__(self, evaluator: ClusterEvaluator, limit_s: float) -> None:
        self._evaluator, self._limit_s = evaluator, limit_s

    def rank(self, survey: Survey, match: Match, tell: Callable[[str], None]) -> RankedTunings:
        return self._evaluator.rank(survey, self._limit_s, tell)


def _read(kernel: Path) -> KernelFiles:
    folder = kernel.resolve().parent
    files = {str(one.resolve().relative_to(folder)): one for one in files_of_kernel(kernel)}
    return KernelFiles(folder / kernel.name, {name: one.read_bytes() for name, one in files.items()})
