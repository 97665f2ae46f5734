"""Which of two kernels is better, and why.

Timed kernels compare by their speedup over the best baseline, each measured against its own baselines in the same
minute. Where nothing can be timed, a right kernel is better when a reading of it finds fewer mistakes of plan, then
by fewer launches, then by fewer spilled registers. What is not better than the best does not replace it.
"""

from __future__ import annotations

from tilesmith.forge.plan_findings import plan_findings
from tilesmith.records import COMPLEXITIES, Attempt, Evaluation, Verdict

VERDICTS_BY_PROGRESS = (
    Verdict.SYNTAX_ERROR,
    Verdict.COMPILE_ERROR,
    Verdict.RUNTIME_ERROR,
    Verdict.CRASHED,
    Verdict.OUT_OF_MEMORY,
    Verdict.TIMEOUT,
    Verdict.WRONG_SHAPE,
    Verdict.UNSAFE_MEMORY,
    Verdict.WRONG_VALUES,
    Verdict.NONDETERMINISTIC,
    Verdict.INACCURATE,
    Verdict.PASSED,
)
"""How far a kernel came, least first. Cheating is not on the way anywhere."""


def score_of(evaluation: Evaluation) -> float | None:
    """Speedup over the best baseline."""
    if not evaluation.passed or evaluation.timing is None:
        return None
    return min(one.value for one in evaluation.timing.speedup.values())


def is_faster(evaluation: Evaluation) -> bool | None:
    """Than every baseline, beyond doubt; null where nothing was timed."""
    if evaluation.timing is None:
        return None
    return all(one.low > 1 for one in evaluation.timing.speedup.values())


def hardest_complexity(*complexities: str) -> str:
    """Of what is said about one kernel; `unknown` says nothing."""
    return max(complexities, key=lambda one: COMPLEXITIES.index(one) if one in COMPLEXITIES else -1)


def closest_to_passing(attempts: list[Attempt]) -> Attempt | None:
    """The failed attempt nearest to passing; of equals the latest. A cheat is nobody's starting point."""
    honest = [attempt for attempt in attempts if attempt.evaluation.verdict in VERDICTS_BY_PROGRESS]
    return max(
        honest, key=lambda a: (VERDICTS_BY_PROGRESS.index(a.evaluation.verdict), a.candidate.number), default=None
    )


def compare_with_best(evaluation: Evaluation, best: Attempt | None, min_gain: float) -> tuple[bool, str]:
    """Whether a kernel replaces the best so far, and why or why not."""
    if not evaluation.passed:
        return False, f"{evaluation.verdict}: {evaluation.reason}"
    score = score_of(evaluation)
    if best is None:
        return True, "first to pass" if score is None else f"first to pass: {score:.2f}x"
    if score is not None and best.score is not None:
        return _compare_scores(score, best.score, min_gain)
    return _compare_readings(evaluation, best.evaluation)


def _compare_scores(score: float, best: float, min_gain: float) -> tuple[bool, str]:
    if score >= best * min_gain:
        return True, f"faster than the best so far: {score:.2f}x after {best:.2f}x"
    verb = "slower than" if score < best else "no faster than"
    return False, f"{verb} the best so far: {score:.2f}x, best {best:.2f}x"


def _compare_readings(evaluation: Evaluation, best: Evaluation) -> tuple[bool, str]:
    for what, new, old in (
        ("mistakes of plan", len(plan_findings(evaluation)), len(plan_findings(best))),
        ("launches", evaluation.launches or 0, best.launches or 0),
        ("spilled registers", _spills(evaluation), _spills(best)),
    ):
        if new != old:
            comparison = "fewer" if new < old else "more"
            return new < old, f"{comparison} {what} than the best so far: {new} after {old} (nothing is timed here)"
    return False, "right, but not visibly better than the best so far (nothing is timed here)"


def _spills(evaluation: Evaluation) -> int:
    return sum(one.spills or 0 for one in evaluation.resources)
