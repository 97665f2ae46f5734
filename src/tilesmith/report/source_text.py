"""Other people's text on a page: bounded, every character visible, highlighted, and never markup.

Kernel sources, reasons and replies may hold anything. What a browser would swallow or obey (control characters,
marks that turn the direction of a line) is shown as a symbol; escaping is left to pygments and the template.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from markupsafe import Markup

LONGEST_SOURCE = 80_000
"""Characters of a kernel that a page shows."""
LONGEST_DIFF = 12_000
LONGEST_COMPARED = 1_500
"""Lines of each of two sources that are compared."""
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Controls, and what Unicode says to ignore where it cannot be shown (one of these is a letter to
Python and a blank to the eye), but for the marks that choose a form of the sign before them."""


@dataclass(frozen=True)
class ShownText:
    """A source or a diff as the page shows it."""

    text: str
    language: str
    """python or diff."""
    lines: int
    """Of the whole text."""
    cut: bool = False
    """Whether the page shows only its beginning."""
    exact: bool = True
    """Whether every character is the file's own, so that a copy from the page is the file."""


def visible(text: str) -> str:
    """The same text with a symbol for each character that nobody could see."""
    return _HIDDEN.sub(_symbol, text.replace("\r\n", "\n"))


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def shown_source(text: str, language: str = "python", limit: int = LONGEST_SOURCE) -> ShownText:
    """The text, or as many of its first lines as the limit allows."""
    cut = len(text) > limit
    kept = text[:limit]
    if cut and "\n" in kept:
        kept = kept[: kept.rindex("\n") + 1]
    shown = visible(kept)
    lines = text.count("\n") + (not text.endswith("\n"))
    return ShownText(shown, language, lines, cut, exact=not cut and shown == text.replace("\r\n", "\n"))


def shown_diff(old: str, new: str, limit: int = LONGEST_DIFF) -> ShownText:
    """A unified diff without the names of the two; of huge sources, of their beginnings."""
    before, after = (one[:LONGEST_SOURCE].splitlines()[:LONGEST_COMPARED] for one in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return shown_source("\n".join(lines), "diff", limit)


def highlighted(shown: ShownText) -> Markup:
    """The text as spans with pygments' short class names; pygments escapes what is in them."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import DiffLexer, PythonLexer

    is_diff = shown.language == "diff"
    lexer = (DiffLexer if is_diff else PythonLexer)(stripnl=False, ensurenl=is_diff)
    return Markup(highlight(shown.text, lexer, HtmlFormatter(nowrap=True)))
