"""The notebook of one check: what is being examined, what was found so far, and the evaluation it becomes."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.judge.decisions.forbidden_names import refuse_forbidden_names
from tilesmith.judge.sessions import Failed
from tilesmith.lint import KernelSource, KernelSyntaxError, lint, read_kernel
from tilesmith.lint.files import given_by_task
from tilesmith.records import (
    Certificate,
    Evaluation,
    Finding,
    GateTiming,
    KernelResources,
    OutputErrors,
    Severity,
    Timing,
    Verdict,
)
from tilesmith.tasks.source import TaskSource

Progress = Callable[[str], None]

_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
"""How Python finds out in which encoding a file says it is, in its first two lines."""


class Examination:
    """Gates write into it; nothing else does. `passed` and `failed` turn it into a frozen record."""

    def __init__(
        self, config: CheckConfig, device: str, task: TaskSource, kernel: Path, progress: Progress
    ) -> None:
        self.config, self.device, self.task, self.kernel = config, device, task, kernel
        self._progress = progress
        self.text = ""
        self.kernel_type = self.complexity = "unknown"
        self.findings: tuple[Finding, ...] = ()
        self.errors: OutputErrors | None = None
        self.timing: Timing | None = None
        self.launches: int | None = None
        self.triton_time_share: float | None = None
        self.resources: tuple[KernelResources, ...] = ()
        self.generality: str | None = None
        self.roofline: dict[str, Any] | None = None
        self.environment: dict[str, Any] = {
            "precision": config.precision,
            "k": config.k,
            "seed": config.seed,
        }
        self.notes: list[str] = []
        self.certificate: Certificate | None = None
        self._gates: list[GateTiming] = []

    @contextlib.contextmanager
    def gate(self, name: str) -> Iterator[None]:
        """Time one gate and say how it went."""
        self._progress(name)
        began = time.monotonic()
        outcome = "error"
        try:
            yield
            outcome = "passed"
        except Failed as failed:
            outcome = str(failed.verdict)
            raise
        finally:
            self._gates.append(GateTiming(name, round(time.monotonic() - began, 3), outcome))

    @contextlib.contextmanager
    def waiting(self, name: str) -> Iterator[None]:
        """Like a gate that is over when the next one begins."""
        self._progress(name)
        began, already = time.monotonic(), len(self._gates)
        try:
            yield
        finally:
            later = sum(gate.seconds for gate in self._gates[already:])
            seconds = round(max(time.monotonic() - began - later, 0.0), 3)
            self._gates.insert(already, GateTiming(name, seconds, "passed"))

    def read_kernel(self) -> None:
        """Gate one: the source parses, and holds nothing that certainly fails."""
        self.text = _decoded(self.kernel)
        try:
            source = read_kernel(self.text, given_by_task(self.task))
            report = lint(source)
        except KernelSyntaxError as error:
            where = f"line {error.line}: " if error.line else ""
            raise Failed(Verdict.SYNTAX_ERROR, f"{where}{error.message}") from None
        self.findings, self.kernel_type = report.findings, report.kernel_type
        self.complexity = report.complexity
        refuse_forbidden_names(self.text)
        for finding in self.findings:
            if finding.severity is Severity.ERROR:
                where = f"line {finding.line}: " if finding.line else ""
                raise Failed(_static_verdict(finding, source), f"{where}{finding.message}")

    def with_extra(self, draws: tuple[str, ...]) -> tuple[str, ...]:
        """The draws and those that this task needs beside them: early, so that they are never cut for time."""
        extra = self.certificate.extra_draws if self.certificate else ()
        return (*draws[:1], *extra, *(draw for draw in draws[1:] if draw not in extra))

    def load_request(self) -> dict[str, Any]:
        """What a candidate child needs to load this kernel."""
        return {
            "path": str(self.kernel.resolve()),
            "text": self.text,
            "device": self.device,
            "target": self.environment.get("capability", self.config.target),
            "precision": self.config.precision,
            "task": str(self.task.path.resolve()),
        }

    def passed(self) -> Evaluation:
        return self._evaluation(Verdict.PASSED, self._summary())

    def failed(self, failed: Failed) -> Evaluation:
        self.errors = failed.errors or self.errors
        return self._evaluation(failed.verdict, failed.reason)

    def _evaluation(self, verdict: Verdict, reason: str) -> Evaluation:
        return Evaluation(
            verdict=verdict,
            reason=reason,
            kernel_type=self.kernel_type,
            complexity=self.complexity,
            findings=self.findings,
            errors=self.errors,
            timing=self.timing,
            launches=self.launches,
            triton_time_share=self.triton_time_share,
            resources=self.resources,
            generality=self.generality,
            roofline=self.roofline,
            environment=dict(self.environment),
            notes=tuple(self.notes),
            certificate=self.certificate.summary() if self.certificate else None,
            gates=tuple(self._gates),
        )

    def _summary(self) -> str:
        if self.device == "cpu":
            compiled = "" if self.resources else ", but not compiled for the target (see the notes)"
            return f"right in Triton's interpreter{compiled}; not timed, because there is no GPU here"
        if self.timing is None:
            return "right; not timed, as asked"
        best = min(self.timing.speedup.items(), key=lambda item: item[1].value)
        faster = "faster than" if best[1].low > 1 else "slower than" if best[1].high < 1 else "level with"
        return f"right, and {faster} its best baseline ({best[0]}: {best[1].value:.2f}x)"


def _decoded(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot read the kernel: {error.strerror}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Failed(Verdict.SYNTAX_ERROR, f"line {line}: the file is not UTF-8 text") from None
    coding = _CODING.search("\n".join(text.splitlines()[:2]))
    if coding and coding[1].lower().replace("_", "-") not in ("utf-8", "utf8", "ascii", "us-ascii"):
        raise Failed(Verdict.SYNTAX_ERROR, f"Python would read the file as {coding[1]}: write it in UTF-8")
    return text


def _static_verdict(finding: Finding, source: KernelSource) -> Verdict:
    """Who would have refused it: the compiler, for a line inside a kernel, else Python."""
    line = finding.line or 0
    kernels = [function.node for function in source.jit_functions]
    in_kernel = any(node.lineno <= line <= (node.end_lineno or node.lineno) for node in kernels)
    return Verdict.COMPILE_ERROR if in_kernel else Verdict.RUNTIME_ERROR
