"""One kernel under examination: what it is judged with, what was found so far, and the evaluation that becomes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tilesmith.config import CheckConfig
from tilesmith.judge.candidate_source import CandidateSource
from tilesmith.judge.decisions.task_roofline import gpu_at_hand, roofline_on
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.compilation import CompilationJob
from tilesmith.judge.gates.replay import AnswerWithoutLaunches
from tilesmith.judge.gates.values import Values
from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.judge.sessions import CandidateSession, ReferenceSession
from tilesmith.lint import LintReport
from tilesmith.process.fork_server_client import Spawn
from tilesmith.process.protocol.candidate import LoadKernel
from tilesmith.records import (
    Certificate,
    Evaluation,
    Finding,
    GateTiming,
    Interface,
    KernelResources,
    OutputErrors,
    Roofline,
    Timing,
    Verdict,
)
from tilesmith.tasks.gpus import REPRESENTATIVES
from tilesmith.tasks.source import TaskSource

FELL_BACK = "judged in eval mode: the module is random in training mode"


@dataclass(frozen=True)
class CheckFindings:
    """What is known of a kernel so far. Every gate returns a new record."""

    kernel_type: str = "unknown"
    complexity: str = "unknown"
    lint: tuple[Finding, ...] = ()
    errors: OutputErrors | None = None
    timing: Timing | None = None
    launches: int | None = None
    triton_time_share: float | None = None
    resources: tuple[KernelResources, ...] = ()
    generality: str | None = None
    limits: tuple[str, ...] = ()
    interface: Interface | None = None
    roofline: Roofline | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    certificate: Certificate | None = None
    kernels: tuple[str, ...] = ()
    """The kernels that one checked call launched."""
    replayed: AnswerWithoutLaunches = field(default_factory=AnswerWithoutLaunches)
    unjoined: tuple[str, ...] = ()
    """Work on side streams that nobody waits for."""
    failure: GateFailed | None = None
    """At the small shape, and not yet excused by the task's own one."""
    excused: bool = False
    """It fails at the small shape and is right at the task's own: no other one is tried."""
    is_slow: bool = False
    """A longer shape took the interpreter too long, so no other shape is tried."""

    def noting(self, *notes: str) -> CheckFindings:
        return replace(self, notes=(*self.notes, *notes))

    def knowing(self, **facts: Any) -> CheckFindings:
        """With more facts about the environment, for the record."""
        return replace(self, environment=self.environment | facts)

    def reading(self, report: LintReport) -> CheckFindings:
        """With what the linter says."""
        return replace(self, lint=report.findings, kernel_type=report.kernel_type, complexity=report.complexity)

    def evaluation(self, verdict: Verdict, reason: str, gates: tuple[GateTiming, ...]) -> Evaluation:
        return Evaluation(
            verdict=verdict,
            reason=reason,
            kernel_type=self.kernel_type,
            complexity=self.complexity,
            findings=self.lint,
            errors=self.errors,
            timing=self.timing,
            launches=self.launches,
            triton_time_share=self.triton_time_share,
            resources=self.resources,
            generality=self.generality,
            limits=self.limits,
            interface=self.interface,
            roofline=self.roofline,
            environment=self.environment,
            notes=self.notes,
            certificate=self.certificate.summary() if self.certificate else None,
            gates=gates,
        )


@dataclass(frozen=True)
class Examination:
    """What the gates judge with, and what they found so far."""

    config: CheckConfig
    device: str
    task: TaskSource
    kernel: CandidateSource
    load: LoadKernel
    """Asks a child to load this kernel."""
    reference: ReferenceSession
    spawn: Spawn
    candidate: CandidateSession
    values: Values
    lock: GpuLock
    findings: CheckFindings
    compilation: CompilationJob | None = None
    """Without a GPU: the compiler's child, which works beside the interpreter's."""

    def with_extra(self, draws: tuple[str, ...]) -> tuple[str, ...]:
        """The draws and those that this task needs beside them: early, so that they are never cut for time."""
        certificate = self.findings.certificate
        extra = certificate.extra_draws if certificate else ()
        return (*draws[:1], *extra, *(draw for draw in draws[1:] if draw not in extra))


def begin(findings: CheckFindings, reference: ReferenceSession, config: CheckConfig, device: str) -> CheckFindings:
    """What is known before the first gate: where the kernel is judged, and the fastest it could be there."""
    findings = findings.knowing(mode="train" if reference.form.training else "eval")
    if reference.form.fell_back:
        findings = findings.noting(FELL_BACK)
    if device == "cuda":
        return replace(findings, roofline=roofline_on(reference.profile, gpu_at_hand(reference.environment)))
    small, exact = reference.shapes["shrunk"], reference.shapes["exact"]
    shapes = exact if small == exact else f"{small} instead of {exact}"
    notes = ["not timed: there is no GPU here"]
    if config.sanitize:
        notes.append("not sanitized: compute-sanitizer needs a GPU; the interpreter checked every address")
    roofline = roofline_on(reference.profile, REPRESENTATIVES.get(config.target))
    return replace(findings, roofline=roofline).knowing(target=config.target, shapes=shapes).noting(*notes)


def summarize(findings: CheckFindings, device: str, timed: bool) -> str:
    """The reason of a kernel that passed; `timed`: whether its speed was asked for."""
    if device == "cpu":
        compiled = "" if findings.resources else ", but not compiled for the target (see the notes)"
        return f"right in Triton's interpreter{compiled}; not timed, because there is no GPU here"
    if findings.timing is None:
        return "right; not timed (see the notes)" if timed else "right; not timed, as asked"
    name, best = min(findings.timing.speedup.items(), key=lambda item: item[1].value)
    faster = "faster than" if best.low > 1 else "slower than" if best.high < 1 else "level with"
    return f"right, and {faster} its best baseline ({name}: {best.value:.2f}x)"
