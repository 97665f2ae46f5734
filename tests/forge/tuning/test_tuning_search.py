"""The search finds the fastest tuning, in bounded time, and times nothing that the compiler refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from written_parts import GRAPH, KnownTimes, WrittenParts, part, tuning

from tilesmith.forge.tuning.search import PYTORCHS, SearchLimits, SearchOutcome, TuningSearch
from tilesmith.judge.trials import CompiledTrial
from tilesmith.playbook.recipe import Tuning

BLOCKS = tuple(2**n for n in range(4, 13))


def search(match: WrittenParts, trials: KnownTimes, seconds: float = 1000.0, **limits: float) -> SearchOutcome:
    return TuningSearch(match, trials, SearchLimits(seconds, clock=trials.clock, **limits)).run({})


def two_parts(left: int, right: int) -> KnownTimes:
    """Each has a best block; the farther from it, the slower. PyTorch takes long."""
    best = {"a": left, "b": right}

    def apart(found: dict[str, int]) -> dict[str, float]:
        blocks = {name: found[f"{name.upper()}_BLOCK"] for name in best if f"{name.upper()}_BLOCK" in found}
        return {name: 0.5 + abs(block.bit_length() - best[name].bit_length()) for name, block in blocks.items()}

    def spent(found: dict[str, int]) -> float:
        kernels = apart(found)
        return sum(kernels.values()) + 20.0 * (2 - len(kernels)) if "B_BLOCK" in found else kernels["a"] + 0.5

    return KnownTimes(spent, apart=apart)


def test_each_part_gets_its_fastest_choice() -> None:
    match = WrittenParts((part("a", *BLOCKS), part("b", *BLOCKS)))
    found = search(match, two_parts(256, 2048))
    assert found.tunings[0] == tuning(A_BLOCK=256, B_BLOCK=2048)
    assert (found.best_ms, found.first_ms) == (1.0, 1.0 + 4 + 7)
    assert not found.unfinished


def test_all_kernels_of_a_file_are_tried_at_once() -> None:
    parts = tuple(part(f"k{n}", *BLOCKS) for n in range(40))
    best = {one.kernel: BLOCKS[n % len(BLOCKS)] for n, one in enumerate(parts)}

    def apart(found: dict[str, int]) -> dict[str, float]:
        blocks = {name: found.get(f"{name.upper()}_BLOCK") for name in best}
        return {name: 1.0 + abs(block - best[name]) for name, block in blocks.items() if block}

    trials = KnownTimes(lambda found: sum(apart(found).values()) + 9e4 * (40 - len(found)), apart=apart)
    found = search(WrittenParts(parts), trials)
    assert {one.kernel: found.ranked[one.key][0][f"{one.prefix}BLOCK"] for one in parts} == best
    told_apart = [count for tried, count in trials.calls if len(tried) == 40]
    assert Counter(told_apart) == {3: 9, 8: 3, 20: 2 + 2}  # and the winner beside the first guess
    assert len(trials.calls) == len(told_apart) + 40  # without each kernel once


def test_a_file_that_is_slower_as_a_whole_than_the_first_guess_is_not_taken() -> None:
    trials = two_parts(256, 256)
    trials.spent = lambda found: 1.0 + (found.get("A_BLOCK", 0) > 16) + 2 * (len(found) < 2)
    found = search(WrittenParts((part("a", *BLOCKS), part("b", *BLOCKS))), trials)
    assert found.tunings[0] == tuning(A_BLOCK=16, B_BLOCK=16)


def test_where_kernels_cannot_be_told_apart_the_first_guess_stays_and_is_not_kept() -> None:
    trials = two_parts(256, 256)
    trials.apart, trials.spent = lambda _: {}, lambda found: 5.0 - len(found)
    found = search(WrittenParts((part("a", *BLOCKS), part("b", *BLOCKS))), trials)
    assert found.tunings[0] == tuning(A_BLOCK=16, B_BLOCK=16)
    assert found.unfinished == {"key of a", "key of b"}


def test_slow_ones_are_called_a_few_times_and_the_best_third_more_often() -> None:
    trials = two_parts(256, 16)
    search(WrittenParts((part("a", *BLOCKS),)), trials)
    calls = Counter(count for _, count in trials.calls)
    assert calls == {3: 9, 8: 3, 20: 2}
    assert {found["A_BLOCK"] for found, count in trials.calls if count == 20} <= {128, 256, 512}


def test_neighbors_of_the_fastest_are_tried() -> None:
    def near(choice: Tuning) -> tuple[Tuning, ...]:
        return tuple(choice.changed("A_BLOCK", n) for n in (choice["A_BLOCK"] // 2, 2 * choice["A_BLOCK"]))

    found = search(WrittenParts((part("a", 16, 64, near=near),)), two_parts(128, 16))
    assert found.tunings[0] == tuning(A_BLOCK=128)


def test_what_the_compiler_refuses_or_spills_is_not_timed() -> None:
    trials = two_parts(4096, 16)

    def compiled(found: dict[str, int]) -> CompiledTrial:
        block = found["A_BLOCK"]
        return CompiledTrial({}, ("a_kernel",)) if block > 1024 else CompiledTrial({"a_kernel": block // 512})

    trials.compiled = compiled
    found = search(WrittenParts((part("a", *BLOCKS),)), trials)
    assert found.tunings[0] == tuning(A_BLOCK=256)
    assert found.dropped == 4
    assert max(tried["A_BLOCK"] for tried, _ in trials.calls) == 256


def test_only_the_part_that_spills_is_dropped() -> None:
    """Both stand in one file, and the name of one kernel begins with that of the other."""
    match = WrittenParts((part("a", 16, 32), part("a_b", 16, 32)))
    trials = KnownTimes(
        lambda found: 1.0 / (found.get("A_BLOCK", 1) * found.get("A_B_BLOCK", 1)),
        lambda found: CompiledTrial({"a_kernel": 0, "a_b_kernel": 8 * (found["A_B_BLOCK"] == 32)}),
        apart=lambda found: {"a": 1 / found["A_BLOCK"], "a_b": 1 / found["A_B_BLOCK"]},
    )
    assert search(match, trials).tunings[0] == tuning(A_BLOCK=32, A_B_BLOCK=16)


def test_a_part_that_pytorch_does_faster_stays_pytorchs() -> None:
    match = WrittenParts((part("a", 16, 32), part("b", 16, 32)))
    found = search(match, KnownTimes(lambda found: 5.0 - len(found) * 0.5 + 2 * ("A_BLOCK" in found)))
    assert found.tunings[0].names == ("B_BLOCK",)


def test_a_kernel_remains() -> None:
    match = WrittenParts((part("a", 16), part("b", 16)))
    found = search(match, KnownTimes(lambda found: 1.0 + len(found)))
    assert len(found.tunings[0].names) == 1


def test_a_tuning_that_does_not_run_is_passed_over() -> None:
    match = WrittenParts((part("a", *BLOCKS),))
    found = search(match, KnownTimes(lambda found: None if found["A_BLOCK"] > 64 else 1.0 / found["A_BLOCK"]))
    assert found.tunings[0] == tuning(A_BLOCK=64)


def test_nothing_that_runs_leaves_the_first_guess() -> None:
    found = search(WrittenParts((part("a", *BLOCKS),)), KnownTimes(lambda _: None))
    assert found.tunings[0] == tuning(A_BLOCK=16)
    assert found.measured == 0


def test_the_time_is_shared_by_the_parts_and_kept() -> None:
    trials = two_parts(4096, 4096)
    found = search(WrittenParts((part("a", *BLOCKS), part("b", *BLOCKS))), trials, seconds=8)
    assert trials.now <= 11  # the last one begun, and the comparison with the first guess
    assert {name for tried, _ in trials.calls for name in tried if tried[name] > 16} == {"A_BLOCK", "B_BLOCK"}
    assert found.unfinished == {"key of a", "key of b"}


def test_some_choices_are_compared_however_long_it_takes() -> None:
    """Beside other tasks the time may pass with waiting for the GPU before anything was timed."""
    trials = two_parts(32, 16)
    found = search(WrittenParts((part("a", *BLOCKS),)), trials, seconds=0.1)
    assert found.measured == 4
    assert found.tunings[0] == tuning(A_BLOCK=32)


def test_at_the_floor_the_search_ends() -> None:
    trials = two_parts(64, 2048)
    found = search(WrittenParts((part("a", *BLOCKS), part("b", *BLOCKS))), trials, floor_ms=0.9)
    assert found.best_ms == 1.0
    assert not any("B_BLOCK" not in tried for tried, _ in trials.calls)  # nothing is left to PyTorch for a trial


def test_a_first_guess_at_the_floor_is_not_even_compared() -> None:
    def compiled(_: dict[str, int]) -> CompiledTrial:
        raise AssertionError("nothing needs to be compiled")

    trials = KnownTimes(lambda _: 1.1, compiled)
    found = search(WrittenParts((part("a", *BLOCKS),)), trials, floor_ms=1.0)
    assert (found.tunings[0], len(trials.calls)) == (tuning(A_BLOCK=16), 1)


def test_known_parts_are_not_tried_again() -> None:
    match, trials = WrittenParts((part("a", *BLOCKS), part("b", *BLOCKS))), two_parts(256, 2048)
    limits = SearchLimits(1000.0, clock=trials.clock)
    found = TuningSearch(match, trials, limits).run({"key of a": (tuning(A_BLOCK=64),)})
    assert found.tunings[0] == tuning(A_BLOCK=64, B_BLOCK=2048)
    assert {tried.get("A_BLOCK") for tried, _ in trials.calls} == {64}


def test_without_a_gpu_the_first_that_does_not_spill_is_taken() -> None:
    match = WrittenParts((part("a", 64, 32, 16), part("b", 16, 32)))
    trials = KnownTimes(lambda _: None, lambda found: CompiledTrial({"a_kernel": found["A_BLOCK"] - 16}))
    trials.is_timed = False
    found = search(match, trials)
    assert found.tunings[0] == tuning(A_BLOCK=16, B_BLOCK=16)
    assert (found.measured, found.dropped, trials.calls) == (0, 2, [])


def test_the_next_best_comes_second() -> None:
    found = search(WrittenParts((part("a", *BLOCKS),)), two_parts(256, 16))
    assert found.tunings[1] in (tuning(A_BLOCK=128), tuning(A_BLOCK=512))
    assert set(found.tunings) >= {tuning(A_BLOCK=block) for block in BLOCKS}


def test_what_there_was_no_time_to_compile_is_not_timed() -> None:
    class Slow(KnownTimes):
        def compile(self, texts: Sequence[str], limit_s: float) -> list[CompiledTrial]:
            return super().compile(texts, limit_s)[:3]

    trials = Slow(two_parts(4096, 16).spent)
    found = search(WrittenParts((part("a", *BLOCKS),)), trials)
    assert found.tunings[0] == tuning(A_BLOCK=64)
    assert found.unfinished == {"key of a"}


def test_the_file_without_kernels_is_timed_too() -> None:
    match = WrittenParts((part("a", 16, 32),))
    found = search(match, KnownTimes(lambda _: 3.0, pytorch_ms=2.0))
    assert (found.best_ms, found.pytorch_ms) == (3.0, 2.0)
    assert PYTORCHS not in found.tunings
    fixed = WrittenParts((replace(match.parts[0], may_be_left=False),))
    assert search(fixed, KnownTimes(lambda _: 3.0, pytorch_ms=2.0)).pytorch_ms is None


def launched(found: dict[str, int], plain: float, graphed: float) -> float:
    """Without a graph, launches take `plain` ms, in which kernels work; block 64 is the fastest."""
    work = 1.0 if found.get("A_BLOCK") == 64 else 2.0
    return work + graphed if "GRAPHS" in found else max(work, plain)


def test_kernels_are_tuned_under_the_faster_way_to_launch_them() -> None:
    found = search(WrittenParts((part("a", 16, 64, 256), GRAPH)), KnownTimes(lambda one: launched(one, 3.0, 0.1)))
    assert found.tunings[:2] == (tuning(A_BLOCK=64, GRAPHS=4), tuning(A_BLOCK=64))
    assert found.ranked[GRAPH.key] == (tuning(GRAPHS=4), Tuning(()))


def test_a_way_to_launch_that_fails_or_gains_little_is_not_taken() -> None:
    for graphed in (0.05, -0.02, None):
        times = KnownTimes(
            lambda one, cost=graphed: None if cost is None and "GRAPHS" in one else launched(one, 0.0, cost or 0.0)
        )
        found = search(WrittenParts((part("a", 16, 64), GRAPH)), times)
        assert found.tunings[0] == tuning(A_BLOCK=64)
        assert found.ranked[GRAPH.key] == (Tuning(()),)


def test_faster_kernels_may_make_another_way_to_launch_worth_it() -> None:
    found = search(WrittenParts((part("a", 16, 64), GRAPH)), KnownTimes(lambda one: launched(one, 1.9, 0.1)))
    assert found.tunings[0] == tuning(A_BLOCK=64, GRAPHS=4)


def test_kernels_are_not_launched_in_another_way_without_a_gpu() -> None:
    trials = KnownTimes(lambda _: 1.0, is_timed=False)
    found = search(WrittenParts((part("a", 16, 64), GRAPH)), trials)
    assert not any("GRAPHS" in one for one in found.tunings)


def test_a_way_to_launch_is_no_kernel() -> None:
    """One must remain beside it, and what is left to PyTorch altogether is launched as the winner is."""
    trials = KnownTimes(lambda found: 1.0 + len(found) - 5 * ("GRAPHS" in found))
    found = search(WrittenParts((part("a", 16), part("b", 16), GRAPH)), trials)
    assert len(found.tunings[0].names) == 2
    assert trials.calls[-1][0] == {"GRAPHS": 4}
    assert found.pytorch_ms == -3.0
