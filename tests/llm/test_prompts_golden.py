"""Every prompt word for word. After a change of wording: `python tests/llm/renew_goldens.py`, and read the diff."""

from __future__ import annotations

import pytest
from renew_goldens import GOLDENS, wanted

TEXTS = wanted()


@pytest.mark.parametrize("name", TEXTS)
def test_the_prompt_is_the_golden_one(name: str) -> None:
    assert TEXTS[name] == (GOLDENS / f"{name}.md").read_text(encoding="utf-8")


def test_no_golden_is_left_over() -> None:
    assert {path.stem for path in GOLDENS.glob("*.md")} == set(TEXTS)
