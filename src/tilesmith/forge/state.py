"""The state of one run: what was tried, what is best, what was spent. Only the loop changes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.forge.budget import EarlyStop, Spending, limit_to_budget
from tilesmith.forge.ranking import closest_to_passing, compare_with_best, hardest_complexity, score_of
from tilesmith.forge.recorded_effects import RecordedEffects
from tilesmith.forge.settings import ForgeSettings
from tilesmith.playbook.task_plan import describe_plan
from tilesmith.records import Analysis, Attempt, AuthorRequest, Candidate, Phase, Reply, StopReason


@dataclass(frozen=True)
class CandidatePlan:
    """What a candidate was meant to be."""

    analysis: Analysis | None = None
    use_fallback: bool = False
    complexity: str = "low"
    """The hardest of all plans along its line of descent; a fallback starts a new line."""


class ForgeState:
    """Numbers requests and candidates, keeps the best verified one, and says when enough was done."""

    def __init__(self, effects: RecordedEffects, settings: ForgeSettings) -> None:
        self.effects, self.settings = effects, settings
        self.survey = effects.survey()
        self._plan = describe_plan(self.survey) if settings.playbook else ""
        self.attempts: list[Attempt] = []
        self.best: Attempt | None = None
        self.spending = Spending()
        self.stopped_by: str | None = None
        self.last_refusal: str | None = None
        self.was_declined = False
        """Whether the author had nothing to offer when it was asked the last time."""
        self.keeps_pytorch: str | None = None
        """What the author says who would write no kernel for this task."""
        self.not_judged: str | None = None
        """Why this machine could not judge the first kernel that it could not."""
        self._plans: dict[int, CandidatePlan] = {}
        self._authors: dict[int, str] = {}
        """Who answered which request."""
        self._requests = self._candidates = 0

    @property
    def base(self) -> Attempt | None:
        """What the next phase starts from: the best verified candidate, else the one that came furthest."""
        return self.best or closest_to_passing(self.attempts)

    def plan_of(self, attempt: Attempt | None) -> CandidatePlan:
        return self._plans.get(attempt.candidate.number, CandidatePlan()) if attempt else CandidatePlan()

    def new_request(self, phase: Phase, **fields: Any) -> AuthorRequest:
        self._requests += 1
        fields = {"history": self._others_than(fields.get("base")), **fields}
        limit = self.settings.max_output_tokens
        return AuthorRequest(self._requests, phase, self.survey, max_output_tokens=limit, plan=self._plan, **fields)

    def repeat_request(self, request: AuthorRequest, complaint: str) -> AuthorRequest:
        """The same request once more, saying what was wrong with the reply."""
        self._requests += 1
        return replace(request, number=self._requests, complaint=complaint)

    def ask(self, request: AuthorRequest) -> Reply:
        (reply,) = self.ask_all([request])
        return reply

    def ask_all(self, requests: Sequence[AuthorRequest]) -> Iterator[Reply]:
        """All at once, each with its share of what is left of the budget."""
        self.spending = self.spending.after_loss(self.effects.lost_usage(requests))
        allowed = limit_to_budget(self.settings, self.spending, requests, self.effects.author.dollars)
        replies = []
        for request, reply in zip(allowed, self.effects.ask(allowed), strict=True):
            replies.append(reply)
            self._authors[request.number] = reply.author
            self.was_declined = reply.stop is StopReason.DECLINED
            if reply.stop is StopReason.KEEPS_PYTORCH:
                self.keeps_pytorch = reply.text.partition("\n")[0]
            yield reply
        self.spending = self.spending.after_calls(replies)

    def judge(self, request: AuthorRequest, source: str) -> Attempt:
        """Judge a new candidate and decide whether it is the best so far. The caller tells the world."""
        parent = request.base.candidate.number if request.base else None
        self._candidates += 1
        author = self._authors[request.number]
        candidate = Candidate(
            self._candidates, source, parent, request.number, request.phase, request.stage, author
        )
        self._plans[candidate.number] = self._plan_for(request)
        twin = next((one for one in self.attempts if one.candidate.source == source), None)
        attempt = self._repeat_evaluation(candidate, twin) if twin else self._evaluate(candidate, request)
        self.attempts.append(attempt)
        if attempt.kept:
            self.best = attempt
        return attempt

    def stop_if_target_met(self) -> None:
        target = self.settings.target_speedup
        if target is not None and self.best and self.best.score is not None and self.best.score >= target:
            raise EarlyStop(f"the target is met: {self.best.score:.2f}x of {target:.2f}x")

    def _others_than(self, base: Attempt | None) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if attempt is not base)

    def _plan_for(self, request: AuthorRequest) -> CandidatePlan:
        before = self.plan_of(request.base)
        if request.use_fallback:
            return CandidatePlan(request.analysis, use_fallback=True)
        if request.analysis is None:
            return before
        return CandidatePlan(
            request.analysis, complexity=hardest_complexity(before.complexity, request.analysis.complexity)
        )

    def _evaluate(self, candidate: Candidate, request: AuthorRequest) -> Attempt:
        evaluation, seconds = self.effects.judge(candidate)
        self.spending = self.spending.after_verdict(seconds)
        kept, why = compare_with_best(evaluation, self.best, self.settings.min_gain)
        planned = request.analysis if not request.use_fallback else None
        expected = planned.expected_speedup if planned else None
        return Attempt(candidate, evaluation, score_of(evaluation), kept, why, seconds, expected)

    def _repeat_evaluation(self, candidate: Candidate, twin: Attempt) -> Attempt:
        number = twin.candidate.number
        why = f"the same source as kernel {number}: not judged again"
        return Attempt(candidate, twin.evaluation, twin.score, False, why, 0.0, same_as=number)
