"""What makes a right answer a cheat: who computed it, when, and whether it was computed at all.

Each function looks at one observation and raises, or lets pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice

from tilesmith.judge.decisions.error_budget import judge_outputs
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.sessions import CandidateSession, ReferenceSession, UnreadableOutputs
from tilesmith.process.protocol.candidate import FirstCall, LaunchFingerprint, ReplayWithoutLaunches
from tilesmith.process.protocol.reference import CompareOutputs, StepCoverage
from tilesmith.records import Verdict
from tilesmith.tasks.draws import DRAWS

_LEAST_DRAWS = 2
"""On a single draw an honest epilogue may have nothing to do."""
FIRST_FILL = "0"
_FILLS: tuple[str, ...] = (FIRST_FILL, "1")
"""A kernel whose result is added or multiplied for show leaves the answer alone under one of these."""
_STOPS = "after some calls it launches no Triton kernel any more: calls are counted, or results remembered"
_CHANGES = "later calls launch {}: calls are counted, or results remembered"
_UNNEEDED = "its answer is right even when its Triton kernels do nothing: something else computes it"
_DECOY_SHARE = 0.9
MANY_CALLS = 100
_CALLS_S = 0.5


def refuse_no_launch(launches: Sequence[str], where: str = "") -> None:
    if not launches:
        raise GateFailed(Verdict.CHEATING, f"{where}no Triton kernel was launched: PyTorch does all the work")


def looks_like_a_decoy(shares: Sequence[float]) -> bool:
    return len(shares) >= _LEAST_DRAWS and min(shares) >= _DECOY_SHARE


def refuse_decoy(shares: Sequence[float]) -> None:
    """`shares`: on each watched draw, how much of the outputs torch had made before or without a kernel."""
    if looks_like_a_decoy(shares):
        raise GateFailed(
            Verdict.CHEATING,
            f"PyTorch alone had made {min(shares):.0%} of the answer, without any Triton kernel: "
            "the kernels are decoys",
        )


def refuse_torch_doing_everything(coverage: StepCoverage, where: str = "") -> None:
    """A kernel may take some of the task's operators over, or all; not none."""
    if coverage.torch_does_all:
        raise GateFailed(
            Verdict.CHEATING,
            f"{where}PyTorch takes every step of the task itself ({', '.join(coverage.steps[:4])}): "
            "the Triton kernels beside it are decoys",
        )


def refuse_copied_answers(draw: str, other: str | None) -> None:
    if other:
        raise GateFailed(
            Verdict.CHEATING,
            f"on the {draw} inputs it returned its answer to the earlier {other} inputs: results are remembered, "
            "not computed",
        )


def refuse_unjoined_streams(unjoined: Sequence[str]) -> None:
    if unjoined:
        raise GateFailed(
            Verdict.CHEATING,
            f"work was left on a side stream that the caller's stream does not wait for ({unjoined[0]}): "
            "it would run outside of the timed call",
        )


@dataclass(frozen=True)
class AnswerWithoutLaunches:
    """What came of calls with every launch left out."""

    accusation: GateFailed | None = None
    """For the judge to raise when it knows that the values are right: a wrong answer is called wrong."""
    first_call: FirstCall | None = None
    """Where there is no GPU: what the first of all calls would have launched."""


def answer_without_launches(
    candidate: CandidateSession,
    reference: ReferenceSession,
    variant: str,
    draws: Sequence[str],
    gpu: Callable[[], AbstractContextManager[None]] = nullcontext,
    calls: int = 0,
) -> AnswerWithoutLaunches:
    """Forward with every launch left out, in memory full of zeros and of ones: the answer must be wrong.

    A right answer must be so on all the draws, because an epilogue may have nothing to do on one of them. `calls`
    is how many more calls are made to see what they would launch: one that launches nothing computes nothing.
    Raises where the code is caught at something that only a cheat does.
    """
    wanted = ((draw, reference.inputs(variant, draw)) for draw in dict.fromkeys((*draws, *DRAWS)))
    usable = dict(islice(((draw, path) for draw, path in wanted if path), max(_LEAST_DRAWS, len(draws))))
    if len(usable) < _LEAST_DRAWS:
        return AnswerWithoutLaunches()
    fills = _FILLS
    first_call: FirstCall | None = None
    for draw, inputs in usable.items():
        outputs = {fill: candidate.output_file() for fill in fills}
        with gpu():
            seen = candidate.ask(ReplayWithoutLaunches(variant, inputs, outputs, calls, _CALLS_S))
            if seen.stops or seen.changes:
                accusation = _STOPS if seen.stops else _CHANGES.format(seen.changes)
                return AnswerWithoutLaunches(GateFailed(Verdict.CHEATING, accusation))
            calls, first_call = 0, first_call or seen.first_call
            answered = [fill for fill in fills if fill in seen.answered]
            fills = tuple(f for f in answered if _is_right(reference, variant, draw, outputs[f]))
        if not fills:
            return AnswerWithoutLaunches(first_call=first_call)
    return AnswerWithoutLaunches(GateFailed(Verdict.CHEATING, _UNNEEDED))


def refuse_different_launches(interpreted: FirstCall | None, compiled: FirstCall | None) -> None:
    """The same call with and without the interpreter, on the same inputs and without results of any kernel.

    What the host code launches must not depend on who runs the kernels.
    """
    if interpreted is None or compiled is None:
        return
    here, there = interpreted.launches, compiled.launches
    differences = [difference for pair in zip(here, there, strict=False) for difference in _between(*pair)]
    if len(here) != len(there) and interpreted.complete and compiled.complete:
        differences.append(f"{len(there)} kernels instead of {len(here)}")
    if differences:
        raise GateFailed(
            Verdict.CHEATING,
            f"it launches something else where its kernels are not interpreted: {differences[0]}; what is judged "
            "must be what runs",
        )


def _between(here: LaunchFingerprint, there: LaunchFingerprint) -> Iterator[str]:
    if here.kernel != there.kernel:
        yield f"{there.kernel} instead of {here.kernel}"
        return
    if here.grid != there.grid:
        yield f"{here.kernel} on a grid of {there.grid} instead of {here.grid}"
    if here.arguments is not None and there.arguments is not None:
        for name in here.arguments.keys() & there.arguments.keys():
            if here.arguments[name] != there.arguments[name]:
                yield f"{here.kernel} with {name} = {there.arguments[name]} instead of {here.arguments[name]}"


def _is_right(reference: ReferenceSession, variant: str, draw: str, output: str) -> bool:
    try:
        compared = reference.ask(CompareOutputs(variant, draw, output))
    except UnreadableOutputs:
        return False
    if compared.layout_problem is not None:
        return False
    return judge_outputs(compared.outputs, reference.k, draw).verdict is Verdict.PASSED
