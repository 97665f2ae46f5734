"""The programs of a launch repeat what the first one did, and say what they would have said by themselves."""

import pytest


@pytest.fixture
def repeated(outcomes) -> dict:
    return outcomes["repeated"]


@pytest.mark.parametrize("check", ["every_program_goes_its_own_way", "atomics", "operations_with_several_results"])
def test_repeated_programs_compute_the_same(repeated, check):
    assert repeated[check] is True


def test_most_programs_are_repeated(repeated):
    done, undone, with_atomics = repeated["programs_are_repeated"]
    assert done == 13 + 6
    assert undone > 0
    assert with_atomics > 12


def test_programs_leave_what_they_would_by_themselves_in_any_order(repeated):
    assert repeated["orders_as_written"] == []


@pytest.mark.parametrize(
    ("check", "fault", "words"),
    [
        ("a_late_program_beyond_the_end", "OutOfBounds", ["1024..1151", "(8, 0, 0)", "x = tl.load(x_ptr"]),
        ("a_race_of_late_programs", "DataRace", ["race between programs", "line ", "tl."]),
    ],
)
def test_what_is_wrong_with_a_repeated_program_is_told_with_its_line(repeated, check, fault, words):
    told = repeated[check]
    assert told["fault"] == fault
    assert told["line"] is not None
    for word in words:
        assert word in told["message"]


def test_a_call_goes_on_while_its_programs_end_and_not_for_ever(repeated):
    assert repeated["slow_programs_that_end"] is True
    assert repeated["too_many_slow_programs"]["fault"] == "NotInterpretable"
    assert "too much work" in repeated["too_many_slow_programs"]["message"]
