"""How numbers and foreign texts look in a prompt: short, and never longer than they may be."""

from __future__ import annotations

import re
from collections.abc import Sequence

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def milliseconds(value: float) -> str:
    """Three digits that count, in the unit that suits: `1.91 ms`, `43.2 us`."""
    return f"{value * 1e3:.3g} us" if value < 0.1 else f"{value:.3g} ms" if value < 1000 else f"{value / 1e3:.3g} s"


def size(value: float) -> str:
    for unit, name in _UNITS:
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} bytes"


def count(value: float) -> str:
    for unit, name in _COUNTS:
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    return f"{share * 100:.2g} %" if share < 0.1 else f"{share * 100:.0f} %"


def factor(value: float) -> str:
    return f"{number(value)}x"


def number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def shape(sizes: Sequence[int] | None) -> str:
    return "scalar" if not sizes else f"({', '.join(str(size) for size in sizes)}{',' if len(sizes) == 1 else ''})"


def clip(text: str, most: int, tail: int = 0) -> str:
    """The beginning and the last `tail` characters; what is left out is counted."""
    text = text.strip("\n").rstrip()
    if len(text) <= most:
        return text
    left_out = f"\n[... {len(text) - most:,} more characters left out ...]\n"
    return text[: most - tail].rstrip() + left_out + (text[-tail:].lstrip() if tail else "")


def one_line(text: str, most: int) -> str:
    message = " ".join(text[: 4 * most].split())
    return message if len(message) <= most else message[: most - 3].rstrip() + "..."


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any inside it, so that no text can break out."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    body = text.strip("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def tidy(text: str) -> str:
    """One blank line at most, and one before each heading; code blocks stay as they are."""
    lines: list[str] = []
    fence = ""
    for line in text.strip().split("\n"):
        if fence:
            fence = "" if line == fence else fence
            lines.append(line)
            continue
        line = line.rstrip()
        if line.startswith("#") and lines and lines[-1]:
            lines.append("")
        if line or (lines and lines[-1]):
            lines.append(line)
        if line.startswith("```"):
            fence = "`" * (len(line) - len(line.lstrip("`")))
    return "\n".join(lines).rstrip("\n") + "\n"
