"""What a run claims of its kernel, and whether that holds where the kernel was judged again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isclose

from tilesmith.records import Evaluation, OutputErrors, Speedup, Verdict

_SAME_INPUTS = 1e-3
"""How far the digests of the same inputs may lie from each other, as a share of their norm: sums are rounded."""


@dataclass(frozen=True)
class Claim:
    """An evaluation in short."""

    verdict: Verdict
    reason: str
    device: str
    errors: OutputErrors | None
    speedup: dict[str, Speedup]
    """Over each baseline; empty where nothing was timed."""


class ClaimOutcome(StrEnum):
    HOLDS = "holds"
    LESS = "holds_less"
    """Right here too and still faster, but by less than was claimed."""
    VALUES = "values_hold"
    """Right here too; a speed was claimed, and could not be measured here."""
    FAILS = "fails"
    """Wrong here, or not faster than a baseline that it was claimed to beat."""


@dataclass(frozen=True)
class ComparedSpeedup:
    """A speedup over one baseline, as claimed and as measured here."""

    baseline: str
    claimed: Speedup
    here: Speedup | None
    outcome: ClaimOutcome | None
    """Null where the baseline was not measured here."""

    @property
    def told(self) -> str:
        if self.here is None:
            return f"{self.baseline} not measured here, {self.claimed.value:.2f}x claimed"
        told = f"{self.here.value:.2f}x {self.baseline} here, {self.claimed.value:.2f}x claimed"
        missing = 1 - self.here.value / self.claimed.value
        return told if self.outcome is ClaimOutcome.HOLDS else f"{told} ({missing:.0%} less)"


@dataclass(frozen=True)
class ClaimComparison:
    """The answer of `tilesmith replay`."""

    outcome: ClaimOutcome
    told: str
    """One line."""
    claimed_on: str
    judged_on: str
    speedups: tuple[ComparedSpeedup, ...] = ()
    same_inputs: bool | None = None
    """Whether the task made the same inputs here; null where seed or shapes are others, or nothing is known."""


def claim_of(evaluation: Evaluation) -> Claim:
    speedups = evaluation.timing.speedup if evaluation.timing else {}
    return Claim(evaluation.verdict, evaluation.reason, _device(evaluation), evaluation.errors, dict(speedups))


def compare_claim(claimed: Evaluation, here: Evaluation) -> ClaimComparison:
    """Whether what `claimed` says of a kernel holds by what was found `here`."""
    speedups = tuple(_compare_speedups(claim_of(claimed).speedup, claim_of(here).speedup))
    outcome = _outcome(claimed, here, speedups)
    told = _told(outcome, claimed, here, speedups)
    return ClaimComparison(outcome, told, _device(claimed), _device(here), speedups, _same_inputs(claimed, here))


def speeds_text(speedups: dict[str, Speedup]) -> str:
    return ", ".join(f"{one.value:.2f}x {name} ({one.low:.2f} to {one.high:.2f})" for name, one in speedups.items())


def _compare_speedups(claimed: dict[str, Speedup], here: dict[str, Speedup]) -> list[ComparedSpeedup]:
    return [
        ComparedSpeedup(name, one, here.get(name), _speed_outcome(one, here[name]) if name in here else None)
        for name, one in claimed.items()
    ]


def _speed_outcome(claimed: Speedup, here: Speedup) -> ClaimOutcome:
    """It holds unless it is beyond doubt less; a kernel that was claimed to be faster fails where it may not be."""
    if here.high >= claimed.low:
        return ClaimOutcome.HOLDS
    return ClaimOutcome.FAILS if claimed.low > 1 >= here.low else ClaimOutcome.LESS


def _outcome(claimed: Evaluation, here: Evaluation, speedups: tuple[ComparedSpeedup, ...]) -> ClaimOutcome:
    """The worst there is."""
    if not here.passed:
        return ClaimOutcome.FAILS
    if claimed.timing is None:
        return ClaimOutcome.HOLDS
    found = {one.outcome for one in speedups}
    ranked = (ClaimOutcome.FAILS, ClaimOutcome.LESS, ClaimOutcome.HOLDS)
    return next((one for one in ranked if one in found), ClaimOutcome.VALUES)


def _same_inputs(claimed: Evaluation, here: Evaluation) -> bool | None:
    first, second = claimed.environment, here.environment
    given, made = first.get("input_digests"), second.get("input_digests")
    if not given or not made or any(first.get(name) != second.get(name) for name in ("seed", "shapes")):
        return None
    try:
        return len(given) == len(made) and all(
            isclose(mine, theirs, rel_tol=0.0, abs_tol=_SAME_INPUTS * max(one[1], other[1]))
            for one, other in zip(given, made, strict=True)
            for mine, theirs in zip(one, other, strict=True)
        )
    except (TypeError, ValueError, LookupError):
        return None  # a stranger's bundle may hold anything


def _told(
    outcome: ClaimOutcome, claimed: Evaluation, here: Evaluation, speedups: tuple[ComparedSpeedup, ...]
) -> str:
    if not here.passed:
        return f"fails: {here.verdict} on {_device(here)}: {here.reason}"
    if claimed.timing is None:
        faster = claim_of(here).speedup
        measured = f"; here it is {speeds_text(faster)}" if faster else ""
        return f"holds: the values are right here too, and no speed was claimed{measured}"
    if outcome is ClaimOutcome.VALUES:
        why = next((note for note in here.notes if note.startswith("not timed")), "not timed here")
        speed = speeds_text(claimed.timing.speedup)
        return f"the values are right here too; the speed, {speed} on {_device(claimed)}, is not repeatable: {why}"
    shown = [one for one in speedups if one.outcome in (outcome, None)]
    start = "holds here too, but less" if outcome is ClaimOutcome.LESS else str(outcome)
    others = _device(here) != _device(claimed)
    where = f"; on another GPU: {_device(here)} here, claimed on {_device(claimed)}" if others else ""
    return f"{start}: {'; '.join(one.told for one in shown)}{where}"


def _device(evaluation: Evaluation) -> str:
    return str(
        evaluation.environment.get("device") or (evaluation.timing.device if evaluation.timing else "unknown")
    )
