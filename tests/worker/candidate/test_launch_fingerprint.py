"""Launches in words, and calls that change their mind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tilesmith.process.protocol.candidate import LaunchFingerprint
from tilesmith.worker.candidate.launch_fingerprint import arguments_in_words, changed_launches, fingerprints_of

SCALE = 2


def kernel(x: Any) -> Any:
    return x * SCALE


def other(x: Any) -> Any:
    return x + SCALE


def launch(grid: tuple[int, ...] = (4, 1, 1), kernel: str = "k", **words: str) -> Any:
    return LaunchFingerprint(kernel, grid, words)


def test_code_and_the_numbers_it_takes_from_its_module_are_part_of_a_launch() -> None:
    words = arguments_in_words(kernel, {"n": 8, "flag": None, "shape": (1, 2.5)})
    assert words == arguments_in_words(kernel, {"n": 8, "flag": None, "shape": (1, 2.5)})
    assert (words["n"], words["flag"], words["shape"]) == ("8", "None", "(1, 2.5)")
    assert words["its code"] != arguments_in_words(other, {})["its code"]


def test_another_number_is_another_code(monkeypatch: Any) -> None:
    before = arguments_in_words(kernel, {})
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert arguments_in_words(kernel, {}) != before


def test_a_call_is_told_in_plain_data() -> None:
    made = SimpleNamespace(kernel="k", grid=(4, 1, 1), arguments={"n": "8"})
    assert fingerprints_of([made]) == (LaunchFingerprint("k", (4, 1, 1), {"n": "8"}),)


def test_the_first_call_may_launch_more() -> None:
    first = [launch(kernel="pack"), launch(), launch((9, 1, 1))]
    assert changed_launches(first, [[launch()]] * 20) is None
    assert changed_launches(first, []) is None


def test_a_smaller_grid_is_a_change_of_mind() -> None:
    assert "(1, 1, 1)" in str(changed_launches([launch()], [[launch()], [launch((1, 1, 1))]]))


def test_a_counter_is_none_and_a_late_change_is() -> None:
    counted = [[launch(count=str(number))] for number in range(20)]
    assert changed_launches([launch()], counted) is None
    late = [[launch(n="8")]] * 12 + [[launch(n="4")]] * 3
    assert "after 12 calls" in str(changed_launches([launch()], late))
    soon = [[launch(n="8")]] * 3 + [[launch(n="4")]] * 12
    assert changed_launches([launch()], soon) is None
