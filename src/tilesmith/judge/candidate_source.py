"""The kernel's file: read, linted and refused where it certainly fails, before anything runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tilesmith.errors import UsageError
from tilesmith.judge.decisions.forbidden_names import refuse_forbidden_names
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.lint import KernelSource, KernelSyntaxError, LintReport, lint, read_kernel
from tilesmith.lint.files import task_facts
from tilesmith.records import Finding, Severity, Verdict
from tilesmith.tasks.source import TaskSource

_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
"""How Python finds out in which encoding a file says it is, in its first two lines."""


@dataclass(frozen=True)
class CandidateSource:
    """A kernel as it was read: its place, its text, and what the linter says of it."""

    path: Path
    source: KernelSource
    report: LintReport

    @property
    def text(self) -> str:
        return self.source.text


def read_candidate(path: Path, task: TaskSource) -> CandidateSource:
    text = _decoded(path)
    try:
        source = read_kernel(text, task_facts(task))
        return CandidateSource(path, source, lint(source))
    except KernelSyntaxError as error:
        where = f"line {error.line}: " if error.line else ""
        raise GateFailed(Verdict.SYNTAX_ERROR, f"{where}{error.message}") from None


def refuse_certain_faults(kernel: CandidateSource) -> None:
    """Names that only cheats use, and what certainly fails."""
    refuse_forbidden_names(kernel.source)
    for finding in kernel.report.findings:
        if finding.severity is Severity.ERROR:
            where = f"line {finding.line}: " if finding.line else ""
            raise GateFailed(_static_verdict(finding, kernel.source), f"{where}{finding.message}")


def _decoded(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot read the kernel: {error.strerror}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise GateFailed(Verdict.SYNTAX_ERROR, f"line {line}: the file is not UTF-8 text") from None
    coding = _CODING.search("\n".join(text.splitlines()[:2]))
    if coding and coding[1].lower().replace("_", "-") not in ("utf-8", "utf8", "ascii", "us-ascii"):
        raise GateFailed(Verdict.SYNTAX_ERROR, f"Python would read the file as {coding[1]}: write it in UTF-8")
    return text


def _static_verdict(finding: Finding, source: KernelSource) -> Verdict:
    """Who would have refused it: the compiler, for a line inside a kernel, else Python."""
    line = finding.line or 0
    kernels = [function.node for function in source.jit_functions]
    in_kernel = any(node.lineno <= line <= (node.end_lineno or node.lineno) for node in kernels)
    return Verdict.COMPILE_ERROR if in_kernel else Verdict.RUNTIME_ERROR
