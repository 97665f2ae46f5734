"""The parts of a reply: what lies outside of reasoning, and the code blocks in it.

Everything here reads a text once from start to end, so that a hostile reply of a megabyte costs milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(
    r"^[ \t>]{0,32}(?P<fence>`{3,}|~{3,})(?P<info>[^`~\n]{0,200})$|(?<=[^\s`])(?P<stuck>`{3,})[ \t]{0,8}$",
    re.MULTILINE,
)
_REASONING = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|scratchpad)[ \t]{0,8}>", re.IGNORECASE)
MOST_BLOCKS = 32
"""Code blocks looked at, from the end of a reply: nobody honest writes more."""
_CODE_STARTS = ("import ", "from ", "@", "class ", "def ", '"""', "#")


@dataclass(frozen=True)
class CodeBlock:
    """What stands between two fences."""

    language: str
    text: str
    closed: bool
    """False when the reply, or another block, began before this one ended."""


def normalize_text(text: str) -> str:
    """One kind of line end, no byte order mark, and nothing that cannot be written to a file."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return encodable.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def without_reasoning(text: str) -> Iterator[str]:
    """The reply without its reasoning; then, where the tags are not in pairs, all of it without the tags."""
    kept, balanced = _outside_reasoning(text)
    yield kept
    if not balanced:
        yield _REASONING.sub("\n", text)


def _outside_reasoning(text: str) -> tuple[str, bool]:
    """A stray closing tag ends reasoning that began before the reply: some providers swallow the opening tag."""
    kept: list[str] = []
    position, inside, balanced = 0, False, True
    for tag in _REASONING.finditer(text):
        closing = bool(tag[1])
        if not inside and not closing:
            kept.append(text[position : tag.start()])
        elif not inside:
            kept, balanced = [], False
        inside = not closing
        position = tag.end()
    if not inside:
        kept.append(text[position:])
    return "".join(kept), balanced and not inside


def find_code_blocks(text: str) -> list[CodeBlock]:
    """All code blocks in order. A fence that names a language always opens one, whatever was open."""
    found: list[CodeBlock] = []
    opened: re.Match[str] | None = None
    for mark in _FENCE.finditer(text):
        if opened is None:
            opened = mark if mark["fence"] else None
        elif _closes(mark, opened):
            found.append(_block(opened, text[opened.end() : mark.start()], closed=True))
            opened = None
        elif mark["fence"] and mark["fence"][0] == opened["fence"][0] and mark["info"].strip():
            found.append(_block(opened, text[opened.end() : mark.start()], closed=False))
            opened = mark
    if opened is not None:
        found.append(_block(opened, text[opened.end() :], closed=False))
    return found


def _closes(mark: re.Match[str], opened: re.Match[str]) -> bool:
    """A fence without a language, or one stuck to the end of the last line of code."""
    fence = opened["fence"]
    if mark["stuck"]:
        return fence[0] == "`" and len(mark["stuck"]) == len(fence)
    return mark["fence"][0] == fence[0] and len(mark["fence"]) >= len(fence) and not mark["info"].strip()


def _block(opened: re.Match[str], text: str, closed: bool) -> CodeBlock:
    """Some replies put code on the line of the language, some the language on the first line of the code."""
    language, first = _language(opened["info"])
    code = (first + text if first else text.removeprefix("\n")).rstrip(" \t>")
    word, _, rest = code.partition("\n")
    return CodeBlock(
        language, rest if word.strip().lower() in ("python", "py", "python3", "json") else code, closed
    )


def _language(info: str) -> tuple[str, str]:
    """The first word, and code that was put on the same line by mistake."""
    word, _, rest = info.strip().partition(" ")
    return word.lower(), rest if rest.startswith(_CODE_STARTS) else ""
