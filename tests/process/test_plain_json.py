"""JSON whose functions nobody reaches from outside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tilesmith.process.plain_json import from_text, to_text

VALUES = [{"a": [1, 2.5, None, True, "ü\ud800"]}, [], "text", {}, float("inf")]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_it_is_what_json_makes(value: Any) -> None:
    assert to_text(value) == json.dumps(value)
    assert from_text(to_text(value)) == value


@pytest.mark.parametrize("text", ["", " 1", "1 2", "{", "nonsense", '{"a": 1} '])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        from_text(text)


def test_a_replaced_encoder_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json.encoder, "c_make_encoder", lambda *_: lambda *_: ("forged",))
    monkeypatch.setattr(json.JSONDecoder, "decode", lambda *_: "forged")
    assert to_text([1]) == "[1]"
    assert from_text("[1]") == [1]


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(TypeError):
        to_text({"a": object()})
