"""How long we wait for a provider, and how often we try again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Generic, NamedTuple, TypeVar

from tilesmith.errors import AuthorError
from tilesmith.llm.failures import CallFailed, Failure
from tilesmith.records import MAX_OUTPUT_TOKENS, Usage

T = TypeVar("T")


def _ignore_line(line: str) -> None:
    pass


@dataclass(frozen=True)
class CallLimits:
    """What one try may take."""

    max_output_tokens: int = MAX_OUTPUT_TOKENS
    temperature: float | None = None
    """Null leaves it to the provider."""
    connect_timeout_s: float = 15.0
    idle_timeout_s: float = 300.0
    """Longest silence within a reply. Long, because a reasoning model may think without a word."""
    call_timeout_s: float = 1800.0
    max_characters: int = 1_000_000
    """A reply longer than this is cut."""


@dataclass(frozen=True)
class RetryPolicy:
    """How to try again. `sleep` may raise, to leave a long wait."""

    retries: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    """Of our own choice; a provider that asks for more gets it, up to the next limit."""
    longest_retry_after_s: float = 600.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    now: Callable[[], float] = field(default=time.time, repr=False)
    """Seconds since the epoch, to read a Retry-After that is a date."""
    chance: Callable[[], float] = field(default=random.random, repr=False)
    """From 0 to 1: several calls that fail together should not come back together."""
    notify: Callable[[str], None] = field(default=_ignore_line, repr=False)
    """Told in one line why there is a wait."""


class CallGivenUp(AuthorError):
    """Nobody answered, however often it was tried; what was heard of the answer is paid for."""

    def __init__(self, message: str, spent: Usage | None = None) -> None:
        super().__init__(message)
        self.spent = spent or Usage()


class RetriedCall(NamedTuple, Generic[T]):
    value: T
    retries: int
    lost: Usage
    """What the tries that failed have cost together."""


def call_with_retries(attempt: Callable[[], T], policy: RetryPolicy, who: str) -> RetriedCall[T]:
    """What `attempt` returns, once it does; `CallGivenUp` when it is no use to go on."""
    retries, lost = 0, Usage()
    while True:
        try:
            return RetriedCall(attempt(), retries, lost)
        except CallFailed as problem:
            failure = problem.failure
        lost += failure.spent
        wait_s = _wait_or_give_up(failure, retries, policy, who, lost)
        policy.notify(f"{who}: {failure.message}; trying again in {wait_s:.0f} s")
        policy.sleep(wait_s)
        retries += 1


def _wait_or_give_up(failure: Failure, retries: int, policy: RetryPolicy, who: str, lost: Usage) -> float:
    asked_s = retry_after_s(failure, policy.now())
    allowed = policy.retries if failure.max_retries is None else min(failure.max_retries, policy.retries)
    if retries >= allowed:
        after = f" (gave up after {retries + 1} tries)" if retries else ""
        raise CallGivenUp(f"{who}: {failure.message}{after}; {failure.advice}", lost)
    if asked_s is None:
        return _backoff_s(retries, policy)
    if asked_s > policy.longest_retry_after_s:
        later = f"it asks to come back in {asked_s:.0f} s: resume the run then"
        raise CallGivenUp(f"{who}: {failure.message}; {later}", lost)
    # A provider that asks for no wait, or always for too short a one, would have used up every try at once.
    return max(_no_sooner_than(asked_s, policy), _backoff_s(retries, policy))


def _no_sooner_than(asked_s: float, policy: RetryPolicy) -> float:
    """Calls that were refused together are told the same moment: each comes a little later, by chance."""
    return asked_s + policy.chance() * max(policy.first_wait_s, asked_s / 10)


def _backoff_s(retries: int, policy: RetryPolicy) -> float:
    """Doubles every time; between half of it and all of it, by chance."""
    whole_s: float = min(policy.longest_wait_s, policy.first_wait_s * 2**retries)
    return whole_s * (0.5 + 0.5 * policy.chance())


def retry_after_s(failure: Failure, now: float) -> float | None:
    """Seconds the provider asked us to wait, said in milliseconds, seconds or as a date."""
    headers = failure.headers
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now)
    except (KeyError, ValueError, OverflowError):
        return None
