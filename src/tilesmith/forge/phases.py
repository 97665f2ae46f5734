"""The phases that write kernels: seeds, then rounds of analysis and optimization."""

from __future__ import annotations

from collections.abc import Generator

from tilesmith.forge.analysis import analyze
from tilesmith.forge.attempts import (
    attempt_kernel,
    is_repairable,
    judge_kernel,
    read_kernel,
    repair_kernel,
    revise_kernel,
)
from tilesmith.forge.replies import UnusableReply
from tilesmith.forge.state import ForgeState
from tilesmith.records import Analysis, Attempt, AuthorRequest, DecisionEvent, Event, Phase

HARD = ("high", "persistent")
"""Plans of this complexity get their fallback tried when they fail."""


def write_seeds(state: ForgeState) -> Generator[Event, None, None]:
    """N first versions are judged: the playbook's, then the others, which are asked for at once. Failing ones are
    repaired, the best may be revised."""
    count = state.settings.seeds
    seeds: list[Attempt] = []
    if state.settings.playbook:
        first = state.new_request(Phase.SEED, seed=1, seeds=count, by_playbook=True)
        seeds = yield from _judge_as_they_come(state, [first])
        state.stop_if_target_met()
        if state.keeps_pytorch:
            return
    places = range(len(seeds) + 1, count + 1)
    requests = [state.new_request(Phase.SEED, seed=place, seeds=count) for place in places]
    seeds += yield from _judge_as_they_come(state, requests)
    state.stop_if_target_met()
    for attempt in filter(is_repairable, seeds):
        yield from repair_kernel(
            state, attempt, state.settings.spare_repairs if state.best else state.settings.repairs
        )
    if state.best:
        yield from revise_kernel(state, state.best)


def _judge_as_they_come(state: ForgeState, requests: list[AuthorRequest]) -> Generator[Event, None, list[Attempt]]:
    """Nothing new is asked for before all replies are in: what was paid for is used."""
    seeds: list[Attempt] = []
    useless: list[tuple[AuthorRequest, UnusableReply]] = []
    for reply, request in zip(state.ask_all(requests), requests, strict=True):
        found = yield from read_kernel(request, reply)
        if isinstance(found, str):
            attempt = yield from judge_kernel(state, request, found)
            seeds += [attempt] if attempt else []
        elif found is not None:
            useless.append((request, found))
    for request, problem in useless:
        attempt = yield from attempt_kernel(state, state.repeat_request(request, str(problem)))
        seeds += [attempt] if attempt else []
    return seeds


def improve(state: ForgeState) -> Generator[Event, None, None]:
    """Rounds of analysis and optimization, until they bring nothing more."""
    without_gain = 0
    for number in range(1, state.settings.rounds + 1):
        before = state.best
        if state.base is None and state.keeps_pytorch:
            return
        if state.base is None:
            yield DecisionEvent("rounds", "left out: there is no kernel to start from")
            return
        analysis = yield from analyze(state, state.base)
        if analysis is None:
            yield DecisionEvent(
                f"analysis of round {number}", "none to be had: optimizing by what was measured alone"
            )
        yield from _carry_out(state, analysis, number)
        without_gain = 0 if state.best is not before else without_gain + 1
        if without_gain >= state.settings.patience and number < state.settings.rounds:
            yield DecisionEvent("rounds", f"ended after round {number}: no gain in {without_gain}")
            return


def _carry_out(state: ForgeState, analysis: Analysis | None, number: int) -> Generator[Event, None, None]:
    """The plan; and if it was a hard one and failed, its fallback. An author that declines has not failed."""
    attempt = yield from _optimize(state, analysis, use_fallback=False)
    failed = not state.was_declined if attempt is None else not attempt.evaluation.passed
    if failed and analysis is not None and analysis.complexity in HARD:
        why = f"the plan ({analysis.complexity}) failed: {analysis.method}; falling back to: {analysis.fallback}"
        yield DecisionEvent(f"fallback in round {number}", why)
        yield from _optimize(state, analysis, use_fallback=True)


def _optimize(
    state: ForgeState, analysis: Analysis | None, use_fallback: bool
) -> Generator[Event, None, Attempt | None]:
    request = state.new_request(Phase.OPTIMIZE, base=state.base, analysis=analysis, use_fallback=use_fallback)
    attempt = yield from attempt_kernel(state, request)
    if attempt is None:
        return None
    attempt = yield from repair_kernel(state, attempt, state.settings.repairs)
    return (yield from revise_kernel(state, attempt))
