from __future__ import annotations

import pytest

from tilesmith.report.number_text import ratio_text, short_number


@pytest.mark.parametrize(
    ("value", "told"), [(262_144_000.0, "262 M"), (999_900.0, "1 M"), (999.4, "999"), (0.0, "0"), (None, "")]
)
def test_short_numbers(value: float | None, told: str) -> None:
    assert short_number(value) == told


@pytest.mark.parametrize(
    ("value", "told"), [(0.001, "under 0.01"), (0.171, "0.17"), (9.96, "9.96"), (150.0, "150")]
)
def test_ratios(value: float, told: str) -> None:
    assert ratio_text(value) == told
