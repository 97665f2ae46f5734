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
    _began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

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
        """What one call may use, beside the calls under way. `settle` must follow."""
        self.require_more()
        if request.by_playbook:
            return Promise(request)
        limits = ForgeSettings(max_tokens=self.limits.max_tokens, max_cost=self.limits.max_cost)
        with self._lock:
            try:
                spending = Spending(usage=self.spent + self._promised)
                (allowed,) = limit_to_budget(limits, spending, [request], dollars)
            except EarlyStop as enough:
                self.stop(f"the suite's limit is reached: {enough}")
                raise SuiteStopped(self.why_stopped) from None
            given = (len(prompt.system) + len(prompt.user)) // CHARACTERS_PER_TOKEN
            most = Usage(given, allowed.max_output_tokens)
            promise = Promise(allowed, replace(most, dollars=dollars(most) or 0.0))
            self._promised += promise.most
        return promise

    def settle(self, promise: Promise, used: Usage) -> None:
        """The call has ended."""
        most = promise.most
        kept = Usage(-most.input_tokens, -most.output_tokens, dollars=-(most.dollars or 0.0))
        with self._lock:
            self._promised += kept
            self.spent += used


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
