"""What a run has spent, and whether the next call may be made.

Every decision rests on recorded calls and verdicts alone, so a resumed or replayed run decides the same. A call is
not made when it would probably go over a limit: as much as the dearest call so far is set aside for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tilesmith.forge.dials import Dials
from tilesmith.records import Reply, Request, Usage

LEAST_USEFUL_OUTPUT = 1024
"""Tokens; a kernel does not fit into less."""


class EnoughDone(Exception):
    """Unwinds the loop to its last phase. Carries why."""


@dataclass(frozen=True)
class Spending:
    """The sum of all calls and verdicts so far."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    dearest_tokens: int = 0
    dearest_dollars: float = 0.0
    seconds: float = 0.0

    def after_calls(self, replies: Sequence[Reply]) -> Spending:
        """Calls made at once: their tokens add up, their time does not."""
        usages = [reply.usage for reply in replies]
        return Spending(
            self.calls + len(replies),
            sum(usages, self.usage),
            max([self.dearest_tokens, *(usage.tokens for usage in usages)]),
            max([self.dearest_dollars, *(usage.dollars or 0.0 for usage in usages)]),
            self.seconds + max((reply.seconds for reply in replies), default=0.0),
        )

    def after_verdict(self, seconds: float) -> Spending:
        return replace(self, seconds=self.seconds + seconds)


def check_budget(dials: Dials, spending: Spending, requests: Sequence[Request]) -> list[Request]:
    """The requests, their output limited to what is left; raises EnoughDone when they do not fit."""
    _check_time(dials, spending)
    _check_money(dials, spending, len(requests))
    if dials.max_tokens is None:
        return list(requests)
    left = dials.max_tokens - spending.usage.tokens
    share = left // max(len(requests), 1)
    if share < max(LEAST_USEFUL_OUTPUT, spending.dearest_tokens):
        raise EnoughDone(f"the token budget is spent: {spending.usage.tokens:,} of {dials.max_tokens:,} used")
    return [replace(one, max_output_tokens=min(one.max_output_tokens, share)) for one in requests]


def _check_time(dials: Dials, spending: Spending) -> None:
    if dials.max_minutes is not None and spending.seconds >= dials.max_minutes * 60:
        raise EnoughDone(f"the time is spent: {spending.seconds / 60:.1f} of {dials.max_minutes:g} minutes")


def _check_money(dials: Dials, spending: Spending, calls: int) -> None:
    if dials.max_cost is None or not calls:
        return
    spent = spending.usage.dollars or 0.0
    if spent + calls * spending.dearest_dollars > dials.max_cost or (spending.calls and spent >= dials.max_cost):
        raise EnoughDone(f"the money is spent: ${spent:.4f} of ${dials.max_cost:g}")
