"""What all jobs of a suite may spend together, and an author who asks before every call."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace

from tilesmith.authors.protocol import Author, OnProgress
from tilesmith.errors import TilesmithError
from tilesmith.forge.budget import CHARACTERS_PER_TOKEN, EarlyStop, PriceFunction, Spending, limit_to_budget
from tilesmith.forge.settings import ForgeSettings
from tilesmith.llm.retry import CallGivenUp
from tilesmith.records import AuthorRequest, Prompt, Reply, Usage
from tilesmith.suite.records import SuiteLimits

_POLL_S = 0.5


class SuiteStopped(TilesmithError):
    """No more work is to be begun: a limit is reached, or somebody asked for an end. What was done is kept."""


@dataclass(frozen=True)
class Promise:
    """A request limited to what is left, and the most that its answer can cost."""

    request: AuthorRequest
    most: Usage = field(default_factory=Usage)


@dataclass
class Allowance:
    """Counts what is spent and promises the rest; asked from many threads."""

    limits: SuiteLimits
    spent: Usage = field(default_factory=Usage)
    """By earlier sessions, too."""
    seconds_before: float = 0.0
    """Of earlier sessions."""
    why_stopped: str = ""
    _promised: Usage = field(default_factory=Usage)
    _under_way: int = 0
    """Calls that a part of the promised is for."""
    _began: float = field(default_factory=time.monotonic)
    _settled: threading.Condition = field(default_factory=threading.Condition)

    @property
    def seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self._began

    def stop(self, why: str) -> None:
        """The first reason counts."""
        self.why_stopped = self.why_stopped or why

    def require_more(self) -> None:
        """Raises SuiteStopped where nothing new may begin."""
        minutes = self.limits.max_minutes
        if minutes is not None and self.seconds >= minutes * 60:
            self.stop(f"the time is over: {self.seconds / 60:.1f} of {minutes:g} minutes")
        if self.why_stopped:
            raise SuiteStopped(self.why_stopped)

    def promise(self, request: AuthorRequest, prompt: Prompt, dollars: PriceFunction) -> Promise:
        """What one call may use, beside the calls under way: it waits for those where less is left than it wants,
        because they seldom use all that they may. `settle` must follow."""
        if request.by_playbook:
            self.require_more()
            return Promise(request)
        with self._settled:
            while (allowed := self._afford(request, dollars)) is None:
                self._settled.wait(_POLL_S)
            given = (len(prompt.system) + len(prompt.user)) // CHARACTERS_PER_TOKEN
            most = Usage(given, allowed.max_output_tokens)
            promise = Promise(allowed, replace(most, dollars=dollars(most) or 0.0))
            self._promised += promise.most
            self._under_way += 1
        return promise

    def settle(self, promise: Promise, used: Usage) -> None:
        """The call has ended."""
        most = promise.most
        kept = Usage(-most.input_tokens, -most.output_tokens, dollars=-(most.dollars or 0.0))
        with self._settled:
            self._promised += kept
            self._under_way -= not promise.request.by_playbook
            self.spent += used
            self._settled.notify_all()

    def _afford(self, request: AuthorRequest, dollars: PriceFunction) -> AuthorRequest | None:
        """The request, limited to what is left; null where calls under way may leave more. Raises SuiteStopped
        where nothing is left for it."""
        self.require_more()
        limits = ForgeSettings(max_tokens=self.limits.max_tokens, max_cost=self.limits.max_cost)
        try:
            (allowed,) = limit_to_budget(limits, Spending(usage=self.spent + self._promised), [request], dollars)
        except EarlyStop as enough:
            if self._under_way:
                return None
            self.stop(f"the suite's limit is reached: {enough}")
            raise SuiteStopped(self.why_stopped) from None
        is_cut = allowed.max_output_tokens < request.max_output_tokens
        return None if is_cut and self._under_way else allowed


class AllowedAuthor:
    """An author who spends from the suite's allowance."""

    def __init__(self, author: Author, allowance: Allowance) -> None:
        self._author, self._allowance = author, allowance

    @property
    def name(self) -> str:
        return self._author.name

    def dollars(self, usage: Usage) -> float | None:
        return self._author.dollars(usage)

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        promise, used = self._allowance.promise(request, prompt, self.dollars), Usage()
        try:
            reply = self._author.answer(promise.request, prompt, on_progress)
            used = reply.usage
            return reply
        except CallGivenUp as error:
            used = error.spent
            raise
        finally:
            self._allowance.settle(promise, used)
