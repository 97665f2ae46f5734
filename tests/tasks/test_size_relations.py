"""Small numbers that stay related as the large ones were."""

from __future__ import annotations

import pytest

from tilesmith.tasks.size_relations import (
    clamp,
    is_power_of_two,
    keep_products,
    keep_ratios,
    make_ragged,
    shrink_value,
    spread,
)


@pytest.mark.parametrize("value", [65, 96, 127, 224, 768, 1000, 1023, 1024, 4095, 8192, 50257, 393216])
@pytest.mark.parametrize("limit", [8, 16, 32, 64, 128])
def test_shrunk_values_are_small_and_of_the_same_kind(value, limit):
    new = shrink_value(value, limit, [])
    assert 2 <= new <= max(limit, 2)
    if value > limit:
        assert is_power_of_two(new) == is_power_of_two(value)
        assert new % 2 == value % 2


def test_divisors_are_kept():
    assert shrink_value(768, 64, [12]) % 12 == 0
    assert shrink_value(512, 8, [32], strict=True) == 64  # two channels a group, not one
    assert shrink_value(4096, 64, [64]) == 128
    assert shrink_value(512, 8, [32]) == 8


def test_values_below_the_limit_stay():
    assert clamp([3, 17, 64], 64, []) == {3: 3, 17: 17, 64: 64}


def test_spread_keeps_different_sizes_different_and_in_order():
    assert spread([1024, 2048, 4096], 128, []) == {4096: 128, 2048: 64, 1024: 32}


def test_products_are_kept():
    new = keep_products({4096: 64, 128: 16}, [32])
    assert new[4096] == 32 * new[128]


def test_ratios_are_kept():
    new = keep_ratios([96, 192, 768], 64)
    assert (new[192], new[768]) == (2 * new[96], 8 * new[96])


@pytest.mark.parametrize("value", [8, 16, 32, 64, 128, 200])
@pytest.mark.parametrize("by", [-7, -3, 1, 5])
def test_ragged_sizes_are_odd_and_near(value, by):
    ragged = make_ragged(value, [], by)
    assert ragged % 2 == 1
    assert value // 2 < ragged <= value + 6


def test_ragged_sizes_keep_fixed_divisors():
    assert make_ragged(64, [4], -3) == 60
