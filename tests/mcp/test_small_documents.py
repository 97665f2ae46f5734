"""A result never outgrows an agent's context, and says what it left out."""

from __future__ import annotations

import json

import pytest

from tilesmith.mcp.small_documents import MOST_CHARACTERS, small_json
from tilesmith.mcp.verdict_meanings import MEANINGS
from tilesmith.records import Verdict


def test_what_is_small_stays_as_it_is() -> None:
    document = {"verdict": "passed", "numbers": [1, 2.5, None], "nested": {"a": True}}
    assert json.loads(small_json(document)) == document


def test_long_texts_and_lists_say_what_is_left_out() -> None:
    cut = json.loads(small_json({"reason": "x" * 3000, "findings": [{"id": n} for n in range(100)]}))
    assert cut["reason"] == "x" * 2000 + "... (1000 more characters left out)"
    assert cut["findings"][-2:] == [{"id": 59}, {"left_out": 40}]


@pytest.mark.parametrize(
    "document",
    [
        {f"list {n}": ["y" * 5000] * 200 for n in range(8)},
        {"deep": [[["z" * 900] * 50] * 50] * 50},
        {"object": {str(n): "w" * 300 for n in range(4000)}},
    ],
    ids=["lists", "deep", "object"],
)
def test_nothing_is_too_large(document: dict[str, object]) -> None:
    text = small_json(document)
    assert len(text) <= MOST_CHARACTERS
    assert json.loads(text).keys() == document.keys()


def test_every_verdict_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Verdict)
