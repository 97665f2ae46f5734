"""Programs of one launch: waiting, deadlock, order, atomics, races."""

import pytest


def test_programs_that_meet_at_a_barrier_finish_in_every_order(concurrency):
    assert concurrency["grid_barrier"] == [True, True, True]


def test_locks_exclude(concurrency):
    assert concurrency["lock"] == [120.0, 120.0]


def test_a_spin_on_a_volatile_load_lets_others_run(concurrency):
    assert concurrency["volatile_spin"] == 7.0


@pytest.mark.parametrize(
    ("check", "waiting", "line"),
    [
        ("deadlock", "4 of 4 programs", "while tl.atomic_add(counter_ptr, 0"),
        ("lock_never_released", "2 of 2 programs", "while tl.atomic_cas(lock_ptr, 0, 1)"),
    ],
)
def test_deadlock_names_the_line_that_waits(concurrency, check, waiting, line):
    fault = concurrency[check]
    assert fault["fault"] == "Deadlock"
    assert fault["verdict"] == "timeout"
    assert waiting in fault["message"]
    assert line in fault["message"]


def test_waiting_for_a_long_computation_is_no_deadlock(concurrency):
    assert concurrency["waiting_for_a_long_computation_is_no_deadlock"] == 1.0


@pytest.mark.parametrize("check", ["deadline", "deadline_in_nested_loops"])
def test_deadline_ends_an_endless_loop(concurrency, check):
    fault = concurrency[check]
    assert fault["fault"] == "KernelTimeout"
    assert fault["verdict"] == "timeout"


def test_seeds_change_the_order_repeatably(concurrency):
    natural, first, again, second = concurrency["orders"]
    assert natural == list(range(16))
    assert first == again
    assert sorted(first) == natural
    assert len({str(order) for order in (natural, first, second)}) == 3


def test_atomics(concurrency):
    assert concurrency["atomics_with_shared_addresses"] is True
    assert concurrency["float_atomics"] == [[True, True], [True, True]]


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("race_lost_update", ["total_ptr", "element 0", "program (1, 0, 0)", "program (0, 0, 0)"]),
        ("race_in_place_stencil", ["element 15", "x_ptr", "left = tl.load"]),
        ("race_different_values", ["out_ptr", "element 0"]),
        ("race_within_a_store", ["out_ptr", "several lanes"]),
    ],
)
def test_races(concurrency, check, words):
    fault = concurrency[check]
    assert fault["fault"] == "DataRace"
    assert fault["verdict"] == "nondeterministic"
    assert fault["line"] is not None
    for word in words:
        assert word in fault["message"]


@pytest.mark.parametrize(
    "check",
    [
        "no_race_stencil_to_another_tensor",
        "no_race_own_elements",
        "no_race_same_value",
        "no_race_under_atomics",
        "races_can_be_switched_off",
    ],
)
def test_benign_sharing_is_no_race(concurrency, check):
    assert concurrency[check] is True
