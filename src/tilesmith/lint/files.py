"""The edge of the linter: kernel and task files in, reports out, whatever the files hold."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass
from pathlib import Path

from tilesmith.errors import UsageError
from tilesmith.lint import KernelSyntaxError, LintReport, TaskFacts, lint, read_kernel
from tilesmith.lint.model.reading import LARGEST_SOURCE_CHARACTERS, too_large
from tilesmith.records import Finding, Severity
from tilesmith.tasks.argument_counts import count_init_arguments, count_inputs
from tilesmith.tasks.source import TaskSource, read_task
from tilesmith.tasks.tensor_sizes import find_largest_tensor
from tilesmith.tasks.user_code.task_name import TaskName

SYNTAX = "syntax-error"
NOT_READ = "not-read"
"""Python may take the file, but this reader gave up on its size or depth."""
ORDER = (Severity.INFO, Severity.WARNING, Severity.ERROR)
MOST_BYTES = 4 * LARGEST_SOURCE_CHARACTERS


@dataclass(frozen=True)
class LintedFile:
    path: Path
    report: LintReport

    @property
    def was_read(self) -> bool:
        return NOT_READ not in {finding.id for finding in self.report.findings}

    @property
    def worst(self) -> Severity | None:
        return max((f.severity for f in self.report.findings), key=ORDER.index, default=None)


def read_task_facts(task: TaskName | None) -> TaskFacts:
    """What a task's file tells a reader of its kernels. Raises TaskError for a file that is no task."""
    return TaskFacts() if task is None else task_facts(read_task(task))


def task_facts(task: TaskSource) -> TaskFacts:
    return TaskFacts(
        has_task=True,
        task_module=task.path.stem,
        inputs=count_inputs(task),
        init_arguments=count_init_arguments(task),
        largest_elements=find_largest_tensor(task),
    )


def lint_file(path: Path, facts: TaskFacts) -> LintedFile:
    """A file that is not Python is a finding; a file that cannot be opened is a UsageError."""
    return LintedFile(path, lint_bytes(_read(path), facts))


def lint_bytes(data: bytes, facts: TaskFacts) -> LintReport:
    """Never raises: whatever the bytes are, there is a report on them."""
    try:
        return lint(read_kernel(_decoded(data), facts))
    except KernelSyntaxError as error:
        rule, severity = (SYNTAX, Severity.ERROR) if error.python_refuses else (NOT_READ, Severity.WARNING)
        return LintReport((Finding(rule, severity, error.line, error.message),), "unknown", "unknown")


def _decoded(data: bytes) -> str:
    """As Python reads a file: UTF-8, unless its first lines name another encoding."""
    if len(data) >= MOST_BYTES:
        raise too_large()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise KernelSyntaxError(line, "the file is not UTF-8 text: save it as UTF-8") from None
    except SyntaxError as error:
        raise KernelSyntaxError(None, error.msg) from None
    except (LookupError, UnicodeError):
        raise KernelSyntaxError(None, f"the file is not {encoding} text: save it as UTF-8") from None


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: is not a file; name the kernel's .py file")
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: cannot read the kernel: {error.strerror}") from None
