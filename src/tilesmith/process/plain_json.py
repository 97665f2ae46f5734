"""JSON that nobody can change from outside: its functions are bound here, before any candidate is loaded."""

from __future__ import annotations

import json
from typing import Any

_make_encoder: Any = getattr(json.encoder, "c_make_encoder", None)
_quote = json.encoder.encode_basestring_ascii
_scan: Any = vars(json.JSONDecoder())["scan_once"]
_join = "".join


def _refuse(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} is not JSON")


_encode = _make_encoder(None, _refuse, _quote, None, ": ", ", ", False, False, True) if _make_encoder else None


def to_text(value: Any) -> str:
    return _join(_encode(value, 0)) if _encode is not None else json.dumps(value)


def from_text(text: str) -> Any:
    """Raises ValueError or RecursionError where `text` is not one JSON value and nothing else."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("more than one JSON value")
    return value
