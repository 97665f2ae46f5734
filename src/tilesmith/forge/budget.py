"""What a run has spent, and how much the next calls may use.

Every decision rests on recorded calls and verdicts alone, so a resumed or replayed run decides the same. What is
left is shared by the calls made at once, and each reply is limited to what its share can pay for; a call whose
share is too small for a kernel is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tilesmith.forge.settings import ForgeSettings
from tilesmith.llm.prompts import write_prompt
from tilesmith.records import AuthorRequest, Reply, Usage

LEAST_USEFUL_OUTPUT = 1024
"""Tokens; a kernel does not fit into less."""
CHARACTERS_PER_TOKEN = 3
"""Of a prompt, to be on the safe side: code has more tokens than prose."""

PriceFunction = Callable[[Usage], float | None]


class EarlyStop(Exception):
    """Unwinds the loop to its last phase. Carries why."""


@dataclass(frozen=True)
class Spending:
    """The sum of all calls and verdicts so far."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def after_calls(self, replies: Sequence[Reply]) -> Spending:
        """Calls made at once: their tokens add up, their time does not."""
        slowest = max((reply.seconds for reply in replies), default=0.0)
        usage = sum((reply.usage for reply in replies), self.usage)
        return Spending(self.calls + len(replies), usage, self.seconds + slowest)

    def after_loss(self, usage: Usage) -> Spending:
        """What was paid for and never arrived whole."""
        return replace(self, usage=self.usage + usage)

    def after_verdict(self, seconds: float) -> Spending:
        return replace(self, seconds=self.seconds + seconds)


def limit_to_budget(
    settings: ForgeSettings, spending: Spending, requests: Sequence[AuthorRequest], dollars: PriceFunction
) -> list[AuthorRequest]:
    """The requests with their output limited to what is left; raises EarlyStop when they do not fit."""
    if settings.max_minutes is not None and spending.seconds >= settings.max_minutes * 60:
        raise EarlyStop(f"the time is spent: {spending.seconds / 60:.1f} of {settings.max_minutes:g} minutes")
    if (settings.max_tokens is None and settings.max_cost is None) or all(one.by_playbook for one in requests):
        return list(requests)
    return [_limit_request(settings, spending, one, len(requests), dollars) for one in requests]


def _limit_request(
    settings: ForgeSettings, spending: Spending, request: AuthorRequest, calls: int, dollars: PriceFunction
) -> AuthorRequest:
    prompt = write_prompt(request)
    given = -(-(len(prompt.system) + len(prompt.user)) // CHARACTERS_PER_TOKEN)
    limit = request.max_output_tokens
    if settings.max_tokens is not None:
        limit = min(limit, (settings.max_tokens - spending.usage.tokens) // calls - given)
        if limit < LEAST_USEFUL_OUTPUT:
            used = f"{spending.usage.tokens:,} of {settings.max_tokens:,} used"
            needed = f"{calls} calls need" if calls > 1 else "it needs"
            needed += f" at least {calls * (given + LEAST_USEFUL_OUTPUT):,}"
            raise EarlyStop(f"the token budget does not allow the next call: {used}, {needed}")
    if settings.max_cost is not None:
        spent = spending.usage.dollars or 0.0
        limit = min(limit, _affordable_tokens((settings.max_cost - spent) / calls, given, limit, dollars))
        if limit < LEAST_USEFUL_OUTPUT:
            raise EarlyStop(f"the money does not allow the next call: ${spent:.4f} of ${settings.max_cost:g} spent")
    return replace(request, max_output_tokens=limit)


def _affordable_tokens(share: float, given: int, wanted: int, dollars: PriceFunction) -> int:
    """Output tokens that `share` dollars pay for, after so many input tokens. An unknown price pays for nothing."""
    reading, both = dollars(Usage(given, 0)), dollars(Usage(given, wanted))
    if reading is None or both is None or reading > share:
        return 0
    writing = both - reading
    return wanted if writing <= share - reading else int(wanted * (share - reading) / writing)
