"""Pieces of Markdown whose texts come from anywhere: kernels, replies, errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tilesmith.runs.event_text import one_line

_LONGEST_TEXT = 600


def plain(text: str) -> str:
    """Somebody else's text in one line that is neither HTML nor a cell, a link or code."""
    line = one_line(text, _LONGEST_TEXT).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*\[\]|])", r"\\\1", line)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Of cells that are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell or ' ' for cell in line)} |" for line in lines)


def fenced(language: str, text: str) -> str:
    """A block of code, whatever backticks are in it, and nothing that would steer a terminal."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text.rstrip())
    return f"{fence}{language}\n{shown}\n{fence}"


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
