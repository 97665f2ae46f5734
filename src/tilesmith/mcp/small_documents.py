"""Results that fit into an agent's context: long texts and lists are cut, and say how much was left out."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

MOST_CHARACTERS = 8000
_STEPS = ((2000, 60), (1000, 30), (500, 15), (300, 8), (200, 5), (100, 3), (60, 2), (40, 1))
"""Characters of a text and entries of a list or object, from generous to strict."""


def small_json(document: dict[str, Any]) -> str:
    """The document as JSON of at most `MOST_CHARACTERS`, cut no more than that takes."""
    text = ""
    for characters, entries in _STEPS:
        text = json.dumps(_cut(document, characters, entries, top=True), separators=(",", ":"))
        if len(text) <= MOST_CHARACTERS:
            return text
    return json.dumps({"error": f"the result is too large: {len(text)} characters at the shortest"})


def _cut(value: Any, characters: int, entries: int, top: bool = False) -> Any:
    """`top`: every field of the document itself is kept."""
    if isinstance(value, str):
        left = len(value) - characters
        return value if left <= 0 else f"{value[:characters]}... ({left} more characters left out)"
    if isinstance(value, dict):
        most = len(value) if top else entries
        kept = {key: _cut(one, characters, entries) for key, one in islice(value.items(), most)}
        return kept | ({"left_out": len(value) - most} if len(value) > most else {})
    if isinstance(value, list | tuple):
        kept_items = [_cut(one, characters, entries) for one in value[:entries]]
        return kept_items + ([{"left_out": len(value) - entries}] if len(value) > entries else [])
    return value
