"""One lesson per rule, in Markdown beside this file: why, what is wrong, what is right.

The same text feeds prompts, reports and documentation, so a lesson is read here and written nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tilesmith.records import Severity


@dataclass(frozen=True)
class Lesson:
    """What a rule teaches."""

    id: str
    title: str
    severity: Severity
    """The gravest a finding of this rule can be."""
    applies_to: tuple[str, ...]
    """Kernel types, or `all`."""
    why: str
    wrong: str
    """Code."""
    correct: str
    """Code."""


@cache
def lessons() -> Mapping[str, Lesson]:
    """All lessons by id."""
    found = [entry for entry in files(__package__).iterdir() if entry.name.endswith(".md")]
    read = [read_lesson(entry.read_text(encoding="utf-8")) for entry in sorted(found, key=lambda e: e.name)]
    return {lesson.id: lesson for lesson in read}


def read_lesson(text: str) -> Lesson:
    """A header between two `---` lines, then prose, then one code block under WRONG and one under CORRECT."""
    _, header, body = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in header.strip().splitlines())
    why, _, examples = body.partition("## WRONG")
    wrong, _, correct = examples.partition("## CORRECT")
    return Lesson(
        id=fields["id"].strip(),
        title=fields["title"].strip(),
        severity=Severity(fields["severity"].strip()),
        applies_to=tuple(kind.strip() for kind in fields["applies_to"].split(",")),
        why=why.strip(),
        wrong=_code(wrong),
        correct=_code(correct),
    )


def _code(section: str) -> str:
    _, _, rest = section.partition("```python\n")
    code, _, _ = rest.partition("```")
    return code
