"""Objects written nearly in JSON: trailing commas, single quotes, Python literals, comments, bare words.

One pass, no backtracking; nesting, the places where an object may begin and all reading in vain are bounded.
"""

from __future__ import annotations

import json
import re
from typing import Any

_DEEPEST = 12
_MOST_STARTS = 24
"""Opening braces tried from either end of a text."""
_IN_VAIN = 500_000
"""Characters that may be read without finding an object."""
_BARE = re.compile(r"[^\s,:{}\[\]\"'][^,:{}\[\]\n]*")
_NUMBER = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,6})?\Z")
_SPACES = re.compile(r"\s*")
_BLANKS = re.compile(r"[ \t]*")
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "nan": float("nan"),
    "infinity": float("inf"),
    "-infinity": float("-inf"),
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ENDS = {'"': re.compile(r'[\\"]'), "'": re.compile(r"[\\']"), "“": re.compile(r"[\\”]")}
"""For each opening quote, where reading must look closer: its closing quote or a backslash."""
_JSON = json.JSONDecoder(strict=False)
_AFTER_STRING = ",}]:#/\n"


class _NotAnObject(Exception):
    """This is no object, however kindly it is read."""


def find_objects(text: str) -> list[dict[str, Any]]:
    """The objects that begin at the first and at the last braces of `text`, outermost only, in order."""
    found: list[dict[str, Any]] = []
    end, in_vain = 0, 0
    for start in _starts(text):
        if start < end or in_vain > _IN_VAIN:
            continue
        reader = _LooseJsonReader(text, start)
        try:
            value, end = _strict(text, start) or (reader.object(0), reader.at)
            found.append(value)
        except _NotAnObject:
            in_vain += reader.at - start
    return found


def _strict(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """Real JSON is read by the library: faster, and right about every escape."""
    try:
        value, end = _JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value, end


def _starts(text: str) -> list[int]:
    first, last = [text.find("{")], [text.rfind("{")]
    while first[-1] >= 0 and len(first) < _MOST_STARTS:
        first.append(text.find("{", first[-1] + 1))
    while last[-1] > 0 and len(last) < _MOST_STARTS:
        last.append(text.rfind("{", 0, last[-1]))
    return sorted({*first, *last} - {-1})


def parse_strict_json(text: str) -> Any:
    """`text` as strict JSON, but with raw line ends allowed in strings; None if it is not."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


class _LooseJsonReader:
    """Reads one object from a position on; `at` is how far it came."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        result: dict[str, Any] = {}
        while self.next_one() != "}":
            key = self.value(depth + 1)
            if self.next_one() != ":":
                raise _NotAnObject
            self.at += 1
            result[str(key)] = self.value(depth + 1)
            self.comma()
        self.at += 1
        return result

    def array(self, depth: int) -> list[Any]:
        self.at += 1
        result = []
        while self.next_one() != "]":
            result.append(self.value(depth + 1))
            self.comma()
        self.at += 1
        return result

    def value(self, depth: int) -> Any:
        first = self.next_one()
        if depth > _DEEPEST or first == "":
            raise _NotAnObject
        if first == "{":
            return self.object(depth)
        if first == "[":
            return self.array(depth)
        return self.strings(first) if first in _ENDS else self.bare()

    def strings(self, quote: str) -> str:
        """One string, or several side by side as Python joins them; one before a colon is the next key."""
        parts = [self.string(quote)]
        while self.next_one() == quote:
            before = self.at
            part = self.string(quote)
            if self.next_one() == ":":
                self.at = before
                break
            parts.append(part)
        return "".join(parts)

    def string(self, quote: str) -> str:
        """Ends at a quote before something that may follow a string; other quotes belong to the text."""
        parts: list[str] = []
        self.at += 1
        start = self.at
        while mark := _ENDS[quote].search(self.text, self.at):
            self.at = mark.end()
            if mark[0] == "\\":
                escaped = self.text[self.at : self.at + 1]
                parts += [self.text[start : mark.start()], _ESCAPES.get(escaped, escaped)]
                self.at += 1
                start = self.at
            elif self.ends_string():
                return "".join(parts) + self.text[start : mark.start()]
        self.at = len(self.text)
        raise _NotAnObject

    def ends_string(self) -> bool:
        blanks = _BLANKS.match(self.text, self.at)
        following = blanks.end() if blanks else self.at
        return following == len(self.text) or self.text[following] in _AFTER_STRING

    def bare(self) -> Any:
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise _NotAnObject
        self.at = match.end()
        word = match[0].partition("//")[0].partition("#")[0].strip()
        if word.lower() in _WORDS:
            return _WORDS[word.lower()]
        return float(word) if _NUMBER.match(word) else word

    def comma(self) -> None:
        if self.next_one() == ",":
            self.at += 1

    def next_one(self) -> str:
        """The next character that is neither space nor comment; empty at the end."""
        while True:
            spaces = _SPACES.match(self.text, self.at)
            self.at = spaces.end() if spaces else self.at
            if self.text.startswith(("//", "#"), self.at):
                self.skip_past("\n")
            elif self.text.startswith("/*", self.at):
                self.skip_past("*/")
            else:
                return self.text[self.at : self.at + 1]

    def skip_past(self, end: str) -> None:
        found = self.text.find(end, self.at)
        self.at = len(self.text) if found < 0 else found + len(end)
