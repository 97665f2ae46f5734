"""Second values of scalars."""

from __future__ import annotations

import pytest

from tilesmith.operators.sizes import other_value


@pytest.mark.parametrize("value", [-2.0, -0.5, 0.0, 1e-5, 0.25, 0.75, 1.0, 3.0])
def test_another_value_differs_and_keeps_its_sign_and_its_range(value: float) -> None:
    other = other_value(value)
    assert isinstance(other, float)
    assert other != value
    assert not 0 < value < 1 or 0 < other < 1
    assert value == 0 or other * value > 0
