"""The phases that write kernels: seeds, then rounds of analysis and optimisation."""

from __future__ import annotations

from collections.abc import Generator

from tilesmith.forge.analysing import analyse
from tilesmith.forge.bench import Bench
from tilesmith.forge.replies import UnusableReply
from tilesmith.forge.trying import held_to_plan, is_repairable, judged, mended, read_kernel, try_kernel
from tilesmith.records import Analysis, Attempt, Decision, Event, Phase, Request

HARD = ("high", "persistent")
"""Plans of this complexity get their fallback tried when they fail."""


def sow(bench: Bench) -> Generator[Event, None, None]:
    """N first versions at once, all judged; failing ones mended; the best of them held to plan."""
    count = bench.dials.seeds
    requests = [bench.request(Phase.SEED, seed=place, seeds=count) for place in range(1, count + 1)]
    seeds = yield from _judge_as_they_come(bench, requests)
    bench.stop_if_target_met()
    for attempt in filter(is_repairable, seeds):
        yield from mended(bench, attempt, bench.dials.spare_repairs if bench.best else bench.dials.repairs)
    if bench.best:
        yield from held_to_plan(bench, bench.best)


def _judge_as_they_come(bench: Bench, requests: list[Request]) -> Generator[Event, None, list[Attempt]]:
    """Nothing new is asked for before all replies are in: what was paid for is used."""
    seeds: list[Attempt] = []
    useless: list[tuple[Request, UnusableReply]] = []
    for reply, request in zip(bench.ask_all(requests), requests, strict=True):
        found = yield from read_kernel(request, reply)
        if isinstance(found, str):
            attempt = yield from judged(bench, request, found)
            seeds += [attempt] if attempt else []
        elif found is not None:
            useless.append((request, found))
    for request, problem in useless:
        attempt = yield from try_kernel(bench, bench.again(request, str(problem)))
        seeds += [attempt] if attempt else []
    return seeds


def improve(bench: Bench) -> Generator[Event, None, None]:
    """Rounds of analysis and optimisation, until they bring nothing more."""
    without_gain = 0
    for number in range(1, bench.dials.rounds + 1):
        before = bench.best
        if bench.base is None:
            yield Decision("rounds", "left out: there is no kernel to start from")
            return
        analysis = yield from analyse(bench, bench.base)
        if analysis is None:
            yield Decision(f"analysis of round {number}", "none to be had: optimising by what was measured alone")
        yield from _carry_out(bench, analysis, number)
        without_gain = 0 if bench.best is not before else without_gain + 1
        if without_gain >= bench.dials.patience and number < bench.dials.rounds:
            yield Decision("rounds", f"ended after round {number}: no gain in {without_gain}")
            return


def _carry_out(bench: Bench, analysis: Analysis | None, number: int) -> Generator[Event, None, None]:
    """The plan; and if it was a hard one and failed, its fallback. An author that declines has not failed."""
    attempt = yield from _optimise(bench, analysis, use_fallback=False)
    failed = not bench.was_declined if attempt is None else not attempt.evaluation.passed
    if failed and analysis is not None and analysis.complexity in HARD:
        why = f"the plan ({analysis.complexity}) failed: {analysis.method}; falling back to: {analysis.fallback}"
        yield Decision(f"fallback in round {number}", why)
        yield from _optimise(bench, analysis, use_fallback=True)


def _optimise(
    bench: Bench, analysis: Analysis | None, use_fallback: bool
) -> Generator[Event, None, Attempt | None]:
    request = bench.request(Phase.OPTIMISE, base=bench.base, analysis=analysis, use_fallback=use_fallback)
    attempt = yield from try_kernel(bench, request)
    if attempt is None:
        return None
    attempt = yield from mended(bench, attempt, bench.dials.repairs)
    return (yield from held_to_plan(bench, attempt))
