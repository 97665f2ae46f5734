"""What a page tells, as plain records: made by `run_view`, drawn by `plots`, laid out by the template."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.playbook.task_plan import TaskPlan
from tilesmith.records import Evaluation, Finding, KernelResources, OutputErrors, Quantiles
from tilesmith.report.source_text import ShownText


@dataclass(frozen=True)
class BaselineGain:
    """How the kernel does against one baseline."""

    baseline: str
    value: float
    low: float
    high: float
    """Of the 95 % confidence interval."""
    tone: str
    """good, bad or even."""
    baseline_ms: float | None


@dataclass(frozen=True)
class Headline:
    """The answer, before anything else."""

    title: str
    told: str
    """How it ended, in a sentence."""
    tone: str
    """good, even or bad."""
    gains: tuple[BaselineGain, ...]
    errors: OutputErrors | None
    not_timed: str
    """Why there are no times; empty where there are."""
    facts: tuple[tuple[str, str], ...]
    """Device, date, author and the like."""


@dataclass(frozen=True)
class KernelView:
    """The winner's source and how to use it."""

    name: str
    """Of a run: `kernel 4`; of a lone verdict the file that was checked."""
    number: int
    source: ShownText
    file: str | None
    """Its path in the run's folder; null where there is none."""
    best_file: str
    """best.py, to be kept from the page; empty where there is none."""
    use: str
    """Lines of Python."""
    terms: tuple[tuple[str, str], ...]
    """What it was verified for, and what it does not take."""
    resources: tuple[KernelResources, ...]


@dataclass(frozen=True)
class AttemptView:
    """One candidate and what became of it."""

    number: int
    phase: str
    parent: int | None
    verdict: str
    passed: bool
    kept: bool
    best: bool
    score: float | None
    score_text: str
    error_ratio: float | None
    """Its error against float64 as a multiple of PyTorch's own."""
    allowed_ratio: float | None
    """How large that may be."""
    outcome: str
    """Kept or dropped and why."""
    reason: str
    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    resources: tuple[KernelResources, ...]
    text: ShownText
    """The diff to its parent, or its source where it has none."""
    file: str | None


@dataclass(frozen=True)
class StoryLine:
    """One step in its place in the tree of candidates."""

    depth: int
    tone: str
    """good, bad or plain."""
    label: str
    """What it is and how it went, in a few words."""
    text: str
    attempt: int | None = None
    leads: bool = False
    """Whether it is on the way to the best kernel."""


@dataclass(frozen=True)
class RooflinePoint:
    name: str
    kind: str
    """best, candidate or baseline."""
    flops_per_s: float


@dataclass(frozen=True)
class RooflineView:
    """What the GPU allows for this task, and what was reached."""

    gpu: str
    bound: str
    floor_ms: float
    intensity: float
    """FLOP per byte, every byte moved once."""
    bytes_per_s: float
    peak_flops_per_s: float
    points: tuple[RooflinePoint, ...]
    reached: float | None
    """The share of what the GPU allows that the best kernel reaches."""


@dataclass(frozen=True)
class ContestantTimes:
    """One contestant's device times."""

    name: str
    times: Quantiles
    call_ms: float | None
    """Median of a lone call by the host's clock, launch overhead included."""
    rounds: tuple[tuple[float, ...], ...]
    """Every sample, round by round; empty in runs of earlier versions."""
    left_out: int = 0
    """Samples beyond those shown."""


@dataclass(frozen=True)
class PhaseCost:
    phase: str
    calls: int
    input_tokens: int
    output_tokens: int
    money: str
    seconds: float


@dataclass(frozen=True)
class ReportView:
    """Everything on the page."""

    headline: Headline
    problems: tuple[str, ...]
    """What is wrong with the run's files."""
    kernel: KernelView | None
    attempts: tuple[AttemptView, ...]
    story: tuple[StoryLine, ...]
    plan: TaskPlan | None
    roofline: RooflineView | None
    times: tuple[ContestantTimes, ...]
    costs: tuple[PhaseCost, ...]
    """By phase, the sum last; empty where no tokens were used."""
    evaluation: Evaluation | None
    """The last one of the best kernel."""
    environment: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    """Names of the run's own files."""
