"""What runs on a node: the judge of one GPU, asked over Ray."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tilesmith.authors.protocol import RankedTunings
from tilesmith.errors import MachineError, TaskError
from tilesmith.judge.machine.devices import gpu_present
from tilesmith.judge.warm_judges import WarmJudges
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined
from tilesmith.records import Evaluation, Survey
from tilesmith.suite.jobs import OpenEvaluator, Work, evaluator_here
from tilesmith.tasks.source import TaskSource
from tilesmith.tasks.user_code.own_imports import digest_of


@dataclass(frozen=True)
class KernelFiles:
    """A kernel and the modules beside it that it imports, as they lie on the driver's machine."""

    path: Path
    contents: dict[str, bytes]
    """By their path under the kernel's folder; the kernel's own among them."""


MakeEvaluators = Callable[[str, WarmJudges], OpenEvaluator]
"""What a judge begins with on its node; is told the device, cuda or cpu."""


def evaluators_there(device: str, judges: WarmJudges) -> OpenEvaluator:
    if device == "cuda" and not gpu_present():
        raise MachineError("Ray says that this node has a GPU, and there is none")
    return partial(evaluator_here, judges)


class JudgeActor:
    """Answers for one GPU, many at once; keeps its references warm as one machine does."""

    def __init__(self, device: str, folder: str, make_evaluators: MakeEvaluators) -> None:
        """`folder` is the driver's own, where this node has it too: tasks may read files from it."""
        if os.path.isdir(folder):
            os.chdir(folder)
        self._judges = WarmJudges()
        self._open_evaluator = make_evaluators(device, self._judges)

    def is_ready(self) -> bool:
        return True

    def close(self) -> None:
        """Ends the kernels under way and leaves nothing on the node."""
        self._judges.close()

    def survey(self, work: Work) -> Survey:
        with self._open_evaluator(_on_this_node(work)) as evaluator:
            return evaluator.survey()

    def evaluate(self, work: Work, kernel: KernelFiles) -> Evaluation:
        with self._open_evaluator(_on_this_node(work)) as evaluator, _file_of(kernel) as path:
            return evaluator.evaluate(path, _ignore)

    def confirm(self, work: Work, kernel: KernelFiles) -> Evaluation:
        with self._open_evaluator(_on_this_node(work)) as evaluator, _file_of(kernel) as path:
            return evaluator.confirm(path, _ignore)

    def rank(self, work: Work, survey: Survey, limit_s: float) -> RankedTunings:
        """The tunings of the recipe that fits the survey, tried on this GPU."""
        match = find_match(survey)
        assert not isinstance(match, Declined), "the driver asks where a recipe fits"
        with self._open_evaluator(_on_this_node(work)) as evaluator:
            tuner = evaluator.tuner(limit_s)
            assert tuner is not None
            return tuner.rank(survey, match, _ignore)


def _ignore(_: str) -> None:
    """Nobody watches a gate from another machine."""


def _on_this_node(work: Work) -> Work:
    """A task's own text travels with it; what it imports of its user's must lie here too."""
    task = work.task
    if isinstance(task, TaskSource) and digest_of(task.own_files) != task.own_digest:
        names = ", ".join(str(one.path) for one in task.own_files)
        raise TaskError(
            f"{task.path}: imports {names}, not the same on node {os.uname().nodename}: keep tasks that import "
            "files in a folder that all nodes share"
        )
    return work


@contextlib.contextmanager
def _file_of(kernel: KernelFiles) -> Iterator[Path]:
    """The kernel where it lies, if this node sees the same files there; else a copy."""
    if all(_is_same(kernel.path.parent / name, content) for name, content in kernel.contents.items()):
        yield kernel.path
        return
    with tempfile.TemporaryDirectory(prefix="tilesmith-kernel-") as folder:
        for name, content in kernel.contents.items():
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        yield Path(folder) / kernel.path.name


def _is_same(file: Path, content: bytes) -> bool:
    try:
        return file.read_bytes() == content
    except OSError:
        return False
