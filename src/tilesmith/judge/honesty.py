"""What makes a right answer a cheat: who computed it, when, and whether it was computed at all.

Each function looks at one observation and raises, or lets pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from tilesmith.config import CheckConfig
from tilesmith.judge.budget import judge_outputs
from tilesmith.judge.sessions import CandidateSession, Failed, ReferenceSession
from tilesmith.records import Verdict

GHOST_DRAW = "own again"
"""Not the draw of the last real run: a reused buffer still holds the answer to that one."""
_DECOY_SHARE = 0.9
_CALLS = 40
_CALLS_S = 0.25


def refuse_idle(launches: Sequence[str], where: str = "") -> None:
    if not launches:
        raise Failed(Verdict.CHEATING, f"{where}no Triton kernel was launched: PyTorch does all the work")


def refuse_decoy(shares: Sequence[float]) -> None:
    """`shares`: on each watched draw, how much of an output was right before a kernel touched it."""
    if shares and min(shares) >= _DECOY_SHARE:
        raise Failed(
            Verdict.CHEATING,
            f"PyTorch had already put {min(shares):.0%} of the answer there before a Triton kernel touched it: "
            "the kernel is a decoy",
        )


def refuse_remembered(draw: str, other: str | None) -> None:
    if other:
        raise Failed(
            Verdict.CHEATING,
            f"on the {draw} inputs it returned its answer to the earlier {other} inputs: results are remembered, "
            "not computed",
        )


def refuse_loose_streams(unjoined: Sequence[str]) -> None:
    if unjoined:
        raise Failed(
            Verdict.CHEATING,
            f"work was left on a side stream that the caller's stream does not wait for ({unjoined[0]}): "
            "it would run outside of the timed call",
        )


def refuse_ghost(
    candidate: CandidateSession,
    reference: ReferenceSession,
    config: CheckConfig,
    variant: str,
) -> None:
    """Without a GPU: the call once more with every launch left out, and what many later calls would launch."""
    output = candidate.output_file()
    inputs = reference.inputs(variant, GHOST_DRAW)
    if inputs is None:
        return
    seen = candidate.ask("ghost", variant=variant, inputs=inputs, output=output, calls=_CALLS, limit_s=_CALLS_S)
    if seen["finished"]:
        refuse_right_ghost(reference, config, variant, GHOST_DRAW, output)
    counts = seen["launches"]
    if counts and counts[0] and 0 in counts:
        raise Failed(
            Verdict.CHEATING,
            f"after {counts.index(0)} calls it launches no Triton kernel any more: calls are counted",
        )


def refuse_right_ghost(
    reference: ReferenceSession,
    config: CheckConfig,
    variant: str,
    draw: str,
    output: str,
    gpu: AbstractContextManager[None] | None = None,
) -> None:
    with gpu or nullcontext():
        result = reference.ask("compare", variant=variant, draw=draw, path=output)
    if "outputs" not in result:
        return  # without its kernels it did not even return the right form
    if judge_outputs(result["outputs"], config.k, draw).verdict is Verdict.PASSED:
        raise Failed(
            Verdict.CHEATING,
            "its answer is right even when its Triton kernels do nothing: something else computes it",
        )
