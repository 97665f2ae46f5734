"""A forge without LLM and judge: kernels carry the verdict they will get in a comment.

    # verdict: passed 1.5 low gemm time-loop-on-host     (verdict, score, complexity, type, findings)

The loop, the journal and the run folder are the real ones; this is for tests of the strategy and for its benchmark.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.config import CheckConfig
from tilesmith.errors import NotJudgedHere
from tilesmith.forge.recorded_effects import Activity
from tilesmith.forge.run_specification import RunSpecification, begin_run
from tilesmith.forge.runner import run_forge
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import (
    AuthorRequest,
    Evaluation,
    Event,
    Finding,
    FinishedEvent,
    Phase,
    Prompt,
    Quantiles,
    Reply,
    Severity,
    Speedup,
    Survey,
    TaskProfile,
    Timing,
    Usage,
    Verdict,
)
from tilesmith.runs import RunFolder
from tilesmith.tasks.user_code.task_name import TaskName

TASK = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(8, 16)]
"""


def kernel(marks: str, name: str = "") -> str:
    """A reply with a kernel that will be judged as `marks` say."""
    return f"Here it is.\n\n```python\n{source(marks, name)}```\n"


def source(marks: str, name: str = "") -> str:
    return f"# verdict: {marks}\n# {name}\nimport torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n    pass\n"


def analysis(complexity: str = "low", fallback: str = "keep PyTorch's") -> str:
    return (
        '{"bottleneck": "memory", "optimization_method": "fuse", "modification_plan": "one kernel", '
        f'"expected_speedup": 1.5, "implementation_complexity": "{complexity}", "kernel_type": "gemm", '
        f'"fallback_strategy": "{fallback}"}}'
    )


@dataclass
class ListAuthor:
    """Answers the n-th request of a phase with the n-th reply; seeds by their number. Notes what it was asked."""

    replies: dict[str, Sequence[str | Reply | Exception]]
    asked: list[AuthorRequest] = field(default_factory=list)
    name: str = "list"

    def answer(self, request: AuthorRequest, prompt: Prompt, heard: Callable[[int], None]) -> Reply:
        self.asked.append(request)
        phase = f"stage {request.stage}" if request.phase is Phase.STAGE else str(request.phase)
        first_seed = request.phase is Phase.SEED and request.complaint is None
        place = request.seed if first_seed else sum(_same(one, request) for one in self.asked)
        if request.phase is Phase.SEED and request.complaint is not None:
            phase, place = "seed again", sum(r.phase is Phase.SEED and bool(r.complaint) for r in self.asked)
        reply = self.replies[phase][place - 1]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            usage = Usage(input_tokens=1000, output_tokens=500, dollars=0.01)
            return Reply(reply, author="list", usage=usage, seconds=1.0)
        return reply

    def dollars(self, usage: Usage) -> float | None:
        return (10 * usage.input_tokens + 20 * usage.output_tokens) / 1e6

    @property
    def phases(self) -> list[str]:
        return [f"{one.phase} {one.stage}" if one.stage else str(one.phase) for one in self.asked]


def _same(one: AuthorRequest, other: AuthorRequest) -> bool:
    return (one.phase, one.stage) == (other.phase, other.stage)


@dataclass
class MarkedEvaluator:
    """Reads the verdict off the kernel's first line. `confirmed` overrides it at the confirmation."""

    confirmed: dict[str, str] = field(default_factory=dict)
    judged: list[str] = field(default_factory=list)
    timed: bool = True

    def survey(self) -> Survey:
        return Survey("relu", TASK, "cuda", TaskProfile({"aten.relu": 1}, dtype="float32"), None, None, None)

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        self.judged.append(kernel.name)
        return self._evaluation(_marks(kernel.read_text()))

    def confirm(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        marks = _marks(kernel.read_text())
        return self._evaluation(self.confirmed.get(marks, marks))

    def _evaluation(self, marks: str) -> Evaluation:
        if marks == "not judged here":
            raise NotJudgedHere("too much work")
        verdict, score, complexity, kind, *findings = [
            *marks.split(),
            *["1.0", "low", "gemm"][len(marks.split()) - 1 :],
        ]
        passed = verdict == "passed"
        return Evaluation(
            Verdict(verdict),
            f"it is {verdict}",
            kind,
            complexity,
            tuple(Finding(one, Severity.WARNING, 1, one) for one in findings),
            timing=_timing(float(score)) if passed and self.timed else None,
            launches=1,
        )


def _marks(text: str) -> str:
    """Of the first line that has some: best.py has a head of its own."""
    lines = text.splitlines()
    return next((line for line in lines if line.startswith("# verdict: ")), lines[0]).removeprefix("# verdict: ")


def _timing(score: float) -> Timing:
    times = Quantiles(1.0, 1.0, 1.0)
    eager = Quantiles(score, score, score)
    speedup = {"eager": Speedup(score, score * 0.99, score * 1.01)}
    return Timing("test", times, eager, None, None, {"candidate": times, "eager": eager}, speedup, speedup, 10)


class RecordingObserver:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def activity_changed(self, activity_changed: Activity) -> None:
        pass

    def event_recorded(self, event: Event) -> None:
        self.events.append(event)


@dataclass
class ForgedRun:
    """A run that went to its end."""

    run: RunFolder
    author: ListAuthor
    evaluator: MarkedEvaluator
    events: list[Event]
    finished: FinishedEvent

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]


@contextlib.contextmanager
def new_run(folder: Path, settings: ForgeSettings) -> Iterator[RunFolder]:
    task = folder / "relu.py"
    task.write_text(TASK)
    specification = RunSpecification(
        TaskName(str(task)), AuthorChoice("playbook", "a test"), CheckConfig(), settings
    )
    with contextlib.closing(begin_run(specification, folder / "runs")) as run:
        yield run


def forged(
    folder: Path,
    replies: dict[str, Sequence[str | Reply | Exception]],
    settings: ForgeSettings,
    evaluator: MarkedEvaluator | None = None,
) -> ForgedRun:
    """A whole run over scripted replies."""
    author, evaluator, observer = ListAuthor(replies), evaluator or MarkedEvaluator(), RecordingObserver()
    with new_run(folder, settings) as run:
        finished = run_forge(run, author, evaluator, settings, observer)
    return ForgedRun(run, author, evaluator, observer.events, finished)
