"""Replay without launches: the answer of a call whose kernels were left out must be wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice

from tilesmith.judge.decisions.cheat_checks import CHANGED_LAUNCHES, LEAST_DRAWS
from tilesmith.judge.decisions.error_budget import judge_outputs
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.sessions import CandidateSession, ReferenceSession, UnreadableOutputs
from tilesmith.process.protocol.candidate import FirstCall, ReplayWithoutLaunches
from tilesmith.process.protocol.reference import CompareOutputs
from tilesmith.process.protocol.tensors import TensorFile
from tilesmith.records import Verdict
from tilesmith.tasks.draws import DRAWS

FIRST_FILL = "0"
_FILLS: tuple[str, ...] = (FIRST_FILL, "1")
"""A kernel whose result is added or multiplied for show leaves the answer alone under one of these."""
_STOPS = "after some calls it launches no Triton kernel any more: calls are counted, or results remembered"
_UNNEEDED = "its answer is right even when its Triton kernels do nothing: something else computes it"
MANY_CALLS = 100
_CALLS_S = 0.5


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
    release: Callable[[], None] = lambda: None,
    calls: int = 0,
) -> AnswerWithoutLaunches:
    """Forward with every launch left out, in memory full of zeros and of ones: the answer must be wrong.

    A right answer must be so on all the draws, because an epilogue may have nothing to do on one of them. `calls`
    is how many more calls are made to see what they would launch: one that launches nothing computes nothing.
    Raises where the code is caught at something that only a cheat does.
    """

    def accepts(draw: str) -> bool:
        with reference.on_gpu(gpu):
            return reference.accepts(variant, draw)

    usable = tuple(islice(filter(accepts, dict.fromkeys((*draws, *DRAWS))), max(LEAST_DRAWS, len(draws))))
    if len(usable) < LEAST_DRAWS:
        return AnswerWithoutLaunches()
    fills = _FILLS
    first_call: FirstCall | None = None
    for draw in usable:
        outputs = {fill: candidate.output_file() for fill in fills}
        with reference.on_gpu(gpu):
            inputs = reference.inputs(variant, draw)
            seen = candidate.ask(ReplayWithoutLaunches(variant, inputs, outputs, calls, _CALLS_S))
            release()
            if seen.stops or seen.changes:
                accusation = _STOPS if seen.stops else CHANGED_LAUNCHES.format(seen.changes)
                return AnswerWithoutLaunches(GateFailed(Verdict.CHEATING, accusation))
            calls, first_call = 0, first_call or seen.first_call
            answers = {f: TensorFile(outputs[f], seen.answered[f]) for f in fills if f in seen.answered}
            fills = tuple(f for f, answer in answers.items() if _is_right(reference, variant, draw, answer))
        if not fills:
            return AnswerWithoutLaunches(first_call=first_call)
    return AnswerWithoutLaunches(GateFailed(Verdict.CHEATING, _UNNEEDED))


def _is_right(reference: ReferenceSession, variant: str, draw: str, answer: TensorFile) -> bool:
    try:
        compared = reference.ask(CompareOutputs(variant, draw, answer.sent_once()))
    except UnreadableOutputs:
        return False
    if compared.layout_problem is not None:
        return False
    return judge_outputs(compared.outputs, reference.k, draw).verdict is Verdict.PASSED
