"""`tilesmith lint KERNEL...`: read kernels without running them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tilesmith.errors import UsageError
from tilesmith.records import Severity, to_json

if TYPE_CHECKING:
    from tilesmith.lint.files import LintedFile

HELP = """Read kernel files and say what kind they are and what is wrong with them. Nothing is run.

    tilesmith lint examples/kernels/softmax.py

    tilesmith lint kernel.py --task task.py --json

    tilesmith lint --explain missing-mask

Exit code 0: nothing that certainly fails; 1: at least one error; 2: a file cannot be read.
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(lint)


def lint(
    kernels: list[Path] = typer.Argument(None, metavar="KERNEL...", help="Python files with Triton kernels."),
    task: Path = typer.Option(None, "--task", help="The task the kernels answer; makes some rules stricter."),
    explain: str = typer.Option(None, "--explain", metavar="RULE", help="Show a rule's lesson, or `all` ids."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    if explain is not None:
        _explain(explain, as_json)
        return
    if not kernels:
        raise UsageError("no kernel given: write  tilesmith lint KERNEL  (or --explain RULE)")
    from tilesmith.lint.files import given_by, lint_file

    given = given_by(task)
    linted = [lint_file(kernel, given) for kernel in kernels]
    if as_json:
        documents = [_document(file) for file in linted]
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
    else:
        _print(linted)
    raise typer.Exit(1 if any(file.worst is Severity.ERROR for file in linted) else 0)


def _document(file: LintedFile) -> dict[str, Any]:
    return {"kernel": str(file.path), **to_json(file.report)}


def _print(linted: list[LintedFile]) -> None:
    for file in linted:
        for finding in file.report.findings:
            print(f"{file.path}:{finding.line or 1}: {finding.severity}: {finding.message} [{finding.id}]")
        count = len(file.report.findings)
        findings = "1 finding" if count == 1 else f"{count or 'no'} findings"
        print(f"{file.path}: {file.report.kernel_type}, complexity {file.report.complexity}, {findings}")


def _explain(rule: str, as_json: bool) -> None:
    from tilesmith.lint.lessons import lessons

    known = lessons()
    if rule == "all":
        rows = [
            {"id": lesson.id, "severity": str(lesson.severity), "title": lesson.title} for lesson in known.values()
        ]
        lines = "\n".join(f"{row['id']:28} {row['severity']:8} {row['title']}" for row in rows)
        print(json.dumps(rows, indent=2) if as_json else lines)
        return
    if rule not in known:
        raise UsageError(f"no rule {rule!r}: `tilesmith lint --explain all` lists them")
    lesson = known[rule]
    text = f"{lesson.id} ({lesson.severity}): {lesson.title}\n\n{lesson.why}\n"
    text += f"\nWRONG\n\n{lesson.wrong}\nCORRECT\n\n{lesson.correct}"
    print(json.dumps(to_json(lesson), indent=2) if as_json else text)
