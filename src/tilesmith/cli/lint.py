"""`tilesmith lint KERNEL...`: read kernels without running them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tilesmith.cli.output_options import command_help
from tilesmith.cli.task_options import InputsOption, PathOption
from tilesmith.errors import UsageError
from tilesmith.records import Severity, to_json

if TYPE_CHECKING:
    from tilesmith.lint import TaskFacts
    from tilesmith.lint.files import LintedFile

HELP = """Read kernel files and say what kind they are and what is wrong with them. Nothing is run.

Examples:

    tilesmith lint examples/kernels/softmax.py

    tilesmith lint kernel.py --task task.py --json

    tilesmith lint --explain missing-mask

Exit code 0: nothing that certainly fails; 1: at least one error; 2: wrong use, or a file was not read.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(HELP))(lint)


def lint(
    kernels: list[Path] = typer.Argument(None, metavar="KERNEL...", help="Python files with Triton kernels."),
    task: str = typer.Option(None, "--task", help="The task the kernels answer; makes some rules stricter."),
    inputs: InputsOption = None,
    path: PathOption = None,
    explain: str = typer.Option(None, "--explain", metavar="RULE", help="Show a rule's lesson, or `all` ids."),
    as_json: bool = typer.Option(False, "--json", help="One JSON list on stdout, an entry for each file."),
) -> None:
    if explain is not None:
        _explain(explain, as_json)
        return
    if not kernels:
        raise UsageError("no kernel given: write  tilesmith lint KERNEL  (or --explain RULE)")
    from tilesmith.lint.files import read_task_facts
    from tilesmith.tasks.user_code.task_name import TaskName

    facts = read_task_facts(TaskName(task, inputs, tuple(map(str, path or ()))) if task else None)
    linted = [_attempt(kernel, facts) for kernel in kernels]
    if as_json:
        documents = [_document(path, file) for path, file in zip(kernels, linted, strict=True)]
        print(json.dumps(documents, indent=2))
    else:
        for file in linted:
            if not isinstance(file, str):
                _print(file)
    raise typer.Exit(_exit_code(linted))


def _attempt(kernel: Path, facts: TaskFacts) -> LintedFile | str:
    """The report, or why there is none; one bad path does not stop the others."""
    from tilesmith.lint.files import lint_file

    try:
        return lint_file(kernel, facts)
    except UsageError as error:
        print(f"tilesmith: {error}", file=sys.stderr)
        return str(error)


def _exit_code(linted: list[LintedFile | str]) -> int:
    if any(isinstance(file, str) or not file.was_read for file in linted):
        return 2
    return 1 if any(not isinstance(file, str) and file.worst is Severity.ERROR for file in linted) else 0


def _document(path: Path, file: LintedFile | str) -> dict[str, Any]:
    if isinstance(file, str):
        return {"kernel": str(path), "error": file}
    return {"kernel": str(path), **to_json(file.report)}


def _print(file: LintedFile) -> None:
    for finding in file.report.findings:
        print(f"{file.path}:{finding.line or 1}: {finding.severity}: {finding.message} [{finding.id}]")
    counts = Counter(finding.severity for finding in file.report.findings)
    told = ", ".join(f"{counts[level]} {_plural(level, counts[level])}" for level in Severity if counts[level])
    print(f"{file.path}: {file.report.kernel_type}, complexity {file.report.complexity}, {told or 'no findings'}")


def _plural(level: Severity, count: int) -> str:
    return str(level) if count == 1 or level is Severity.INFO else f"{level}s"


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
        near = get_close_matches(rule.lower().replace("_", "-"), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"no rule {rule!r}: {hint}`tilesmith lint --explain all` lists them")
    lesson = known[rule]
    text = f"{lesson.id} ({lesson.severity}): {lesson.title}\n\n{lesson.why}\n"
    text += f"\nWRONG\n\n{lesson.wrong}\nCORRECT\n\n{lesson.correct}"
    print(json.dumps(to_json(lesson), indent=2) if as_json else text)
