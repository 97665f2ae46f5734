"""Options are refused at once, and the lists of names agree with the code that uses them."""

from __future__ import annotations

import pytest

from tilesmith.config import PRECISIONS, TARGETS, CheckConfig
from tilesmith.errors import UsageError
from tilesmith.tasks.draws import ALL_DRAWS
from tilesmith.worker.compile import TARGETS as COMPILABLE
from tilesmith.worker.truth import draws, precision


@pytest.mark.parametrize("wrong", [{"precision": "fp16"}, {"target": "sm_1"}, {"k": 0}, {"timeout_s": -1}])
def test_a_wrong_option_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        CheckConfig(**wrong)  # type: ignore[arg-type]


def test_both_sides_know_the_same_names() -> None:
    assert set(TARGETS) == set(COMPILABLE)
    assert set(PRECISIONS) == set(precision._ALLOWED)
    assert {draw for draw in ALL_DRAWS if not draw.startswith("own")} == set(draws._VARIATIONS)
