"""What an expert would do beyond avoiding mistakes, one lesson per file, in the form of `lint/lessons`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from tilesmith.lint.lessons import Lesson, read_lesson


@cache
def playbook_lessons() -> Mapping[str, Lesson]:
    """All of them by id."""
    found = sorted((e for e in files(__package__).iterdir() if e.name.endswith(".md")), key=lambda e: e.name)
    read = [read_lesson(entry.read_text(encoding="utf-8")) for entry in found]
    return {lesson.id: lesson for lesson in read}
