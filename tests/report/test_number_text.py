from __future__ import annotations

import pytest

from tilesmith.report.number_text import power, ratio_text, short_number, told_facts


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


@pytest.mark.parametrize(
    ("value", "told"), [(6.9e-8, "6.9\u00a0×\u00a010⁻⁸"), (0.012, "0.012"), (999.6, "1,000"), (1234.5, "1,234")]
)
def test_powers(value: float, told: str) -> None:
    assert power(value) == told


def test_facts_are_told_as_people_read_them() -> None:
    known = {"memory_bytes": 150_109_880_320, "l2_bytes": 100, "precision": "default", "cuda": None}
    assert dict(told_facts(known | {"input_digests": [[18.29413871752331, 52.36]]})) == {
        "memory": "139.8 GiB",
        "l2": "100 bytes",
        "precision": "default: TF32 in convolutions and recurrent layers",
    }
