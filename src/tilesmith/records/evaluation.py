"""The nouns of a judgment: a verdict and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tilesmith.records.certificate import CertificateSummary
from tilesmith.records.interface import Interface
from tilesmith.records.numbers import Count
from tilesmith.records.task_facts import Roofline

FORMAT_VERSION = 1


class Verdict(StrEnum):
    """What the judge says of a candidate; everything but PASSED is a way to fail."""

    PASSED = "passed"
    SYNTAX_ERROR = "syntax_error"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    WRONG_SHAPE = "wrong_shape"
    WRONG_VALUES = "wrong_values"
    INACCURATE = "inaccurate"
    UNSAFE_MEMORY = "unsafe_memory"
    NONDETERMINISTIC = "nondeterministic"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    CHEATING = "cheating"
    UNSUPPORTED = "unsupported"
    """Honest code that is not Triton's: C++ extensions, torch.compile."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class Finding:
    """One thing a static reading of the source has to say."""

    id: str
    severity: Severity
    line: int | None
    message: str


@dataclass(frozen=True)
class OutputErrors:
    """How far one output is from float64 truth, and how far PyTorch itself is."""

    max_abs: float
    mean_abs: float
    relative: float
    eager_relative: float
    ratio: float | None
    """relative / eager_relative; null when PyTorch is exact."""


@dataclass(frozen=True)
class Quantiles:
    """20th, 50th and 80th percentile of repeated timings, in milliseconds."""

    p20: float
    p50: float
    p80: float


BASELINES = ("eager", "graph", "compile")
"""What a kernel is timed against, where it can be."""


@dataclass(frozen=True)
class Speedup:
    """Baseline time / candidate time with a 95 % bootstrap confidence interval."""

    value: float
    low: float
    high: float

    @property
    def tone(self) -> str:
        """good, bad or even: whether the interval lies above 1, below it or around it."""
        return "good" if self.low > 1 else "bad" if self.high < 1 else "even"

    def describe(self) -> str:
        return f"{self.value:.2f}x ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Timing:
    """Times of the candidate and every baseline, measured in interleaved rounds; `*_ms` is device time."""

    device: str
    candidate_ms: Quantiles
    eager_ms: Quantiles
    graph_ms: Quantiles | None
    compile_ms: Quantiles | None
    call_ms: dict[str, Quantiles]
    """A lone call of each contestant by the host's clock: launch overhead and synchronization included."""
    speedup: dict[str, Speedup]
    """Over each baseline, by device time."""
    call_speedup: dict[str, Speedup]
    """Over each baseline, by call time."""
    rounds: int
    notes: tuple[str, ...] = ()
    samples_ms: dict[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)
    """Device time of every call of each contestant, round by round."""


@dataclass(frozen=True)
class KernelResources:
    """What one compiled specialization of a kernel needs on the target."""

    kernel: str
    target: str
    registers: Count | None
    spills: Count | None
    shared_bytes: Count | None
    tensor_core: bool | None
    num_warps: Count | None = None
    num_stages: Count | None = None
    arguments: str | None = None
    """Of the first launch of this specialization, dtypes and shapes included; null on a GPU."""


@dataclass(frozen=True)
class Evaluation:
    """The judge's whole answer about one candidate."""

    verdict: Verdict
    reason: str
    kernel_type: str
    complexity: str = "unknown"
    """How delicate the kernel is: low, medium, high, persistent; unknown where it does not parse."""
    findings: tuple[Finding, ...] = ()
    errors: OutputErrors | None = None
    timing: Timing | None = None
    launches: int | None = None
    triton_time_share: float | None = None
    resources: tuple[KernelResources, ...] = ()
    generality: str | None = None
    """general, or exact shape only; null when no other shape could be derived."""
    limits: tuple[str, ...] = ()
    """Calls of forward that Model takes and the kernel does not, one phrase each."""
    interface: Interface | None = None
    """The calls that were verified; null where that was not found out."""
    roofline: Roofline | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What could not be measured and why, one sentence each."""
    certificate: CertificateSummary | None = None
    """Of the task: how many known cheats the judge kills on it, and which it cannot tell from the truth."""
    gates: tuple[GateTiming, ...] = ()
    format_version: int = FORMAT_VERSION

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED

    @property
    def is_for_larger_shapes(self) -> bool:
        """Whether smaller shapes were judged in place of the task's own, and it is not known to take others."""
        return self.generality != "general" and " instead of " in str(self.environment.get("shapes"))


@dataclass(frozen=True)
class GateTiming:
    """One gate the candidate went through, and how long it took."""

    gate: str
    seconds: float
    outcome: str
