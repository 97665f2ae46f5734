"""`tilesmith lint KERNEL`: read a kernel without running it."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from tilesmith.errors import UsageError
from tilesmith.records import Finding, Severity, to_json


def register(app: typer.Typer) -> None:
    app.command(
        help="Read a kernel file and say what is wrong with it.\n\n    tilesmith lint examples/kernels/softmax.py"
    )(lint)


def lint(
    kernel: Path = typer.Argument(help="Python file with Triton kernels."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    from tilesmith import lint as reader

    try:
        text = kernel.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{kernel}: cannot read the kernel: {error.strerror}") from None
    try:
        report = reader.lint(reader.read_kernel(text))
    except reader.KernelSyntaxError as error:
        findings: tuple[Finding, ...] = (Finding("syntax-error", Severity.ERROR, error.line, error.message),)
        _show(kernel, findings, "unknown", "unknown", as_json)
    else:
        findings = report.findings
        _show(kernel, findings, report.kernel_type, report.complexity, as_json)
    raise typer.Exit(1 if any(f.severity is Severity.ERROR for f in findings) else 0)


def _show(kernel: Path, findings: tuple[Finding, ...], kernel_type: str, complexity: str, as_json: bool) -> None:
    if as_json:
        document = {
            "kernel_type": kernel_type,
            "complexity": complexity,
            "findings": [to_json(finding) for finding in findings],
        }
        print(json.dumps(document, indent=2))
        return
    for finding in findings:
        print(f"{kernel}:{finding.line or 1}: {finding.severity}: {finding.message} [{finding.id}]")
    print(f"{kernel}: {kernel_type}, complexity {complexity}, {len(findings)} findings")
