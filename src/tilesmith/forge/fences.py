"""The parts of a reply: what lies outside of reasoning, and the code blocks in it.

Everything here reads a text once from start to end, so that a hostile reply of a megabyte costs milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"[ \t>]{0,32}(`{3,}|~{3,})[ \t]{0,8}([^`~\n]{0,200})\Z")
_REASONING = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|scratchpad)[ \t]{0,8}>", re.IGNORECASE)
_CODE_STARTS = ("import ", "from ", "@", "class ", "def ", '"""', "#")


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    language: str
    text: str
    closed: bool
    """False when the reply, or another block, began before this one ended."""


def plain(text: str) -> str:
    """One kind of line end, no byte order mark, and nothing that cannot be written to a file."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return encodable.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def readings(text: str) -> Iterator[str]:
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


def blocks_in(text: str) -> list[Block]:
    """All code blocks in order. A fence that names a language always opens one, whatever was open."""
    found: list[Block] = []
    lines: list[str] = []
    fence, language = "", ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence and mark and _closes(mark, fence):
            found.append(Block(language, _code(lines), closed=True))
            fence, lines = "", []
        elif mark and (not fence or (mark[1][0] == fence[0] and mark[2].strip())):
            if fence:
                found.append(Block(language, _code(lines), closed=False))
            fence = mark[1]
            language, first = _language(mark[2])
            lines = [first] if first else []
        elif fence and line.endswith(fence) and fence[0] == "`":
            found.append(Block(language, _code([*lines, line.removesuffix(fence)]), closed=True))
            fence, lines = "", []
        elif fence:
            lines.append(line)
    if fence:
        found.append(Block(language, _code(lines), closed=False))
    return found


def _closes(mark: re.Match[str], fence: str) -> bool:
    return mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not mark[2].strip()


def _language(info: str) -> tuple[str, str]:
    """The first word, and code that was put on the same line by mistake."""
    word, _, rest = info.strip().partition(" ")
    return word.lower(), rest if rest.startswith(_CODE_STARTS) else ""


def _code(lines: list[str]) -> str:
    """Some replies put the language on the line after the fence."""
    first = lines[0].strip().lower() if lines else ""
    return "\n".join(lines[1:] if first in ("python", "py", "python3", "json") else lines)
