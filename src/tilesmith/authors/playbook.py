"""The playbook as an author: answers every request from its recipes, offline and always the same.

What it has tried is read off the request (the base, the history), because a tuning stands as constants in every
file that a recipe writes. With a tuner its first kernel is the fastest of many; the others are for repairs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from tilesmith.authors.protocol import OnProgress, RankedTunings, Tuner
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined, Match, Tuning
from tilesmith.playbook.task_plan import plan_lines, plan_task
from tilesmith.playbook.tuning import find_tuning
from tilesmith.records import STAGES, AuthorRequest, Phase, Prompt, Reply, StopReason, Usage, Verdict

NAME = "playbook"
_AT_THE_FLOOR = 1.05
"""A kernel this close to the roofline has nothing left to gain."""

_WRONG = (Verdict.INACCURATE, Verdict.WRONG_VALUES)
"""What more exact products may repair."""

_ONE_SEED = "its tunings are compared before the first seed, which is the best of them"

_Answer = Reply | Declined


class PlaybookAuthor:
    """Implements `Author` with recipes in place of a model."""

    def __init__(self, tuner: Tuner | None = None) -> None:
        self._tuner = tuner
        self._ranked: RankedTunings | None = None

    @property
    def name(self) -> str:
        return NAME

    def dollars(self, usage: Usage) -> float | None:
        return 0.0

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        """The reply to `request`; the prompt says the same in words and is not needed."""
        match = find_match(request.survey)
        if isinstance(match, Declined):
            told = "\n".join(plan_lines(plan_task(request.survey)))
            reply = Reply(told, NAME, StopReason.KEEPS_PYTORCH)
        else:
            reply = self._answer(request, match, on_progress)
        on_progress(len(reply.text))
        return reply

    def _answer(self, request: AuthorRequest, match: Match, on_progress: OnProgress) -> Reply:
        if self._tuner is not None and request.phase is Phase.SEED and request.seed > 1:
            return Reply(_ONE_SEED, NAME, StopReason.DECLINED)
        was_ranked = self._ranked is not None
        if self._tuner is not None and not was_ranked and request.phase is not Phase.ANALYZE:
            self._ranked = self._tuner.rank(request.survey, match, lambda line: on_progress(0, line))
        if self._ranked is not None and self._ranked.keeps_pytorch:
            lines = [self._ranked.keeps_pytorch, *plan_lines(plan_task(request.survey))]
            kept = Reply("\n".join(lines), NAME, StopReason.KEEPS_PYTORCH)
            return replace(kept, note=self._ranked.note, seconds=self._ranked.seconds)
        found = _ANSWERS[request.phase](request, match, self._ranked)
        reply = Reply(found.reason, NAME, StopReason.DECLINED) if isinstance(found, Declined) else found
        if self._ranked is not None and not was_ranked:
            return replace(reply, note=self._ranked.note, seconds=self._ranked.seconds)
        return reply


def _seed(request: AuthorRequest, match: Match, ranked: RankedTunings | None) -> _Answer:
    """Seed k is the k-th best guess; where tunings were compared before, the best of them is the only one."""
    if ranked is not None:
        return _kernel(match, ranked.tunings[0])
    if request.seed > len(match.tunings):
        return Declined(f"this recipe has {len(match.tunings)} variants, and seed {request.seed} would repeat one")
    return _kernel(match, match.tunings[request.seed - 1])


def _why_no_other(ranked: RankedTunings) -> str:
    if ranked.is_timed:
        return "the fastest of the tunings that were measured is judged: no other would gain anything"
    return "nothing is timed here, so a variant could not show a gain"


def _analyze(request: AuthorRequest, match: Match, ranked: RankedTunings | None) -> _Answer:
    found = match.analysis()
    fields = {
        "bottleneck": found.bottleneck,
        "optimization_method": found.method,
        "modification_plan": found.plan,
        "expected_speedup": _over_the_base(request, match, found.expected_speedup),
        "implementation_complexity": found.complexity,
        "kernel_type": found.kernel_type,
        "fallback_strategy": found.fallback,
    }
    return Reply(f"```json\n{json.dumps(fields, indent=2)}\n```", NAME)


def _over_the_base(request: AuthorRequest, match: Match, over_pytorch: float | None) -> float | None:
    """What is left to gain: nothing that we know of where the base is a kernel of this recipe."""
    if _tuning(request, match) is not None:
        return 1.0
    timing = request.base.evaluation.timing if request.base else None
    if timing is None or over_pytorch is None:
        return over_pytorch
    reached = timing.eager_ms.p50 / timing.candidate_ms.p50
    return round(max(over_pytorch / reached, 1.0), 2)


def _optimize(request: AuthorRequest, match: Match, ranked: RankedTunings | None) -> _Answer:
    """The next variant that nobody has tried."""
    if (why := _nothing_to_gain(request)) is not None:
        return Declined(why)
    base = _tuning(request, match)
    if base is None:
        return _kernel(match, (ranked or match).tunings[0])
    if ranked is not None and ranked.is_timed:
        return Declined(_why_no_other(ranked))
    if _passed_untimed(request):
        return Declined("nothing is timed here, so a variant could not show a gain")
    near = [tuning for stage in STAGES for tuning in match.variations(base, stage)]
    fresh = _untried(request, match, [*match.tunings, *near])
    return _kernel(match, fresh[0]) if fresh else Declined("this recipe has no variant left to try")


def _stage(request: AuthorRequest, match: Match, ranked: RankedTunings | None) -> _Answer:
    if (why := _nothing_to_gain(request)) is not None:
        return Declined(why)
    base = _tuning(request, match)
    if base is None:
        return Declined("the kernel was not written by a recipe, so there is no tuning to vary")
    if ranked is not None and ranked.is_timed:
        return Declined(_why_no_other(ranked))
    fresh = _untried(request, match, match.variations(base, request.stage or ""))
    if not fresh:
        return Declined(f"the kernel has nothing that the {request.stage} stage could change")
    return _kernel(match, fresh[0])


def _repair(request: AuthorRequest, match: Match, ranked: RankedTunings | None) -> _Answer:
    """A kernel of ours that fails may fail for its size: the next tuning may do."""
    if _tuning(request, match) is None:
        return Declined("the kernel was not written by a recipe, which cannot repair the work of others")
    fresh = _untried(request, match, (ranked or match).tunings)
    if request.base and request.base.evaluation.verdict in _WRONG:
        fresh.sort(key=lambda tuning: "EXACT" not in tuning)
    return _kernel(match, fresh[0]) if fresh else Declined("every variant of this recipe failed")


def _revise(request: AuthorRequest, match: Match, ranked: RankedTunings | None) -> _Answer:
    return Declined("this is the plan of the recipe: it has no other")


_ANSWERS: dict[Phase, Callable[[AuthorRequest, Match, RankedTunings | None], _Answer]] = {
    Phase.SEED: _seed,
    Phase.ANALYZE: _analyze,
    Phase.OPTIMIZE: _optimize,
    Phase.STAGE: _stage,
    Phase.REPAIR: _repair,
    Phase.REVISE: _revise,
}


def _kernel(match: Match, tuning: Tuning) -> Reply:
    return Reply(f"{match.strategy(tuning)}\n\n```python\n{match.write(tuning)}```\n", NAME)


def _tuning(request: AuthorRequest, match: Match) -> Tuning | None:
    return find_tuning(match, request.base.candidate.source) if request.base else None


def _untried(request: AuthorRequest, match: Match, options: Sequence[Tuning]) -> list[Tuning]:
    """Each option once, without those that the base and the history had."""
    attempts = [*request.history, *([request.base] if request.base else [])]
    tried = {find_tuning(match, attempt.candidate.source) for attempt in attempts}
    return [tuning for tuning in dict.fromkeys(options) if tuning not in tried]


def _passed_untimed(request: AuthorRequest) -> bool:
    return request.base is not None and request.base.evaluation.passed and request.base.evaluation.timing is None


def _nothing_to_gain(request: AuthorRequest) -> str | None:
    timing = request.base.evaluation.timing if request.base else None
    floor = request.survey.roofline.floor_ms if request.survey.roofline else None
    if timing is None or not floor or timing.candidate_ms.p50 > _AT_THE_FLOOR * floor:
        return None
    return f"the kernel takes {timing.candidate_ms.p50:.3g} ms and the memory needs {floor:.3g} ms: nothing to gain"
