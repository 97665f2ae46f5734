"""The nouns of a suite: a job for each task or kernel, and a row for what came of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import Speedup
from tilesmith.tasks.user_code.task_name import TaskName

FORMAT_VERSION = 1


class JobOutcome(StrEnum):
    """What became of a job."""

    PASSED = "passed"
    """A kernel is right; its speedups say whether it is faster."""
    KEPT = "kept"
    """PyTorch is kept, because nothing would be faster; `why` has the reason."""
    FAILED = "failed"
    """No kernel passed; the verdict says how the last one failed."""
    ERROR = "error"
    """The task or the machine is at fault, so that nothing can be said of kernels."""


@dataclass(frozen=True)
class Job:
    """One task to forge, or one kernel of somebody's to judge."""

    key: str
    """Its name in the suite, such as `level1/19_ReLU`, or `level1/19_ReLU sample 3`."""
    task: TaskName
    task_key: str
    level: str = ""
    """The folder of the task within the suite; empty at the top."""
    kernel: str | None = None
    """The path of the kernel to judge; null where one is to be written."""
    sample: int | None = None
    """The number of that kernel among those for the same task."""
    digest: str = ""
    """Stands for the texts of task and kernel: a row of another digest does not count."""


@dataclass(frozen=True)
class Row:
    """What became of one job."""

    key: str
    task: str
    level: str
    sample: int | None
    digest: str
    outcome: JobOutcome
    verdict: str | None
    """Of the best kernel, or of the last one where none passed; null where none was judged."""
    why: str
    score: float | None = None
    """Speedup over the best baseline; null where nothing was timed."""
    speedup: dict[str, Speedup] = field(default_factory=dict)
    """Over each baseline that was measured."""
    error_ratio: float | None = None
    """The kernel's error over PyTorch's own."""
    device: str | None = None
    attempts: int = 0
    tokens: int = 0
    dollars: float | None = 0.0
    """Null when the price of the model is unknown."""
    seconds: float = 0.0
    """From the start of the job to its answer, with other jobs beside it."""
    run: str | None = None
    """The name of its folder in `runs/`; null where there is none."""

    @property
    def passed(self) -> bool:
        return self.outcome is JobOutcome.PASSED


@dataclass(frozen=True)
class SuiteLimits:
    """What all jobs of a suite may use together; null is no limit."""

    max_tokens: int | None = None
    max_cost: float | None = None
    """Dollars."""
    max_minutes: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_cost", "max_minutes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"--{name.replace('_', '-')} {value:g}: must be greater than zero")


@dataclass(frozen=True)
class ClusterChoice:
    """Which Ray cluster works on a suite."""

    address: str | None = None
    """Null is RAY_ADDRESS, or the one that this machine belongs to."""
    gpu_kind: str | None = None
    """Part of the name of the GPUs that may be used, such as H200; null is any."""


@dataclass(frozen=True)
class TaskSelection:
    """Which of the listed tasks a suite takes, and in which order it works."""

    only: tuple[str, ...] = ()
    """Parts of keys, or patterns such as level1/*softmax*; a task fits one of them."""
    range: str | None = None
    """FROM-TO: places in the list, both included, counted from 1."""
    shuffle: int | None = None
    """The seed of a random order; null works the cheapest tasks first."""
    first: int | None = None
    """So many of those that are left."""

    def __post_init__(self) -> None:
        if self.first is not None and self.first < 1:
            raise UsageError(f"--first {self.first}: must be at least 1")
        places = re.fullmatch(r"(\d+)-(\d+)", "1-1" if self.range is None else self.range)
        if not places or not 1 <= int(places[1]) <= int(places[2]):
            raise UsageError(f"--range {self.range}: write FROM-TO, such as 1-20, counted from 1")


@dataclass(frozen=True)
class SuiteSpecification:
    """What a suite was asked for. Holds no key."""

    name: str
    places: tuple[str, ...]
    """Folders, files and patterns with tasks, absolute."""
    path: tuple[str, ...]
    """Folders that their modules are looked for in, absolute."""
    selection: TaskSelection
    check: CheckConfig
    author: AuthorChoice | None = None
    """Null where kernels of others are judged."""
    settings: ForgeSettings | None = None
    kernels: str | None = None
    """The folder of kernels to judge; null where they are to be written."""


@dataclass(frozen=True)
class Suite:
    """A suite as it stands: what `suite.json` holds."""

    created: str
    specification: SuiteSpecification
    keys: tuple[str, ...]
    """Of all jobs, in the order in which tasks are listed."""
    rows: tuple[Row, ...]
    """Of the jobs that have an outcome, in the same order."""
    why_unfinished: str = ""
    """Why jobs are left, where it was not for want of time: a limit, an author who does not answer."""
    seconds: float = 0.0
    """Spent on it, in all its sessions together."""
    tilesmith: str = ""
    without_kernel: int = 0
    """Tasks that nobody wrote a kernel for, where kernels of others are judged; they count nowhere."""
    format_version: int = FORMAT_VERSION

    @property
    def judges_others(self) -> bool:
        return self.specification.author is None
