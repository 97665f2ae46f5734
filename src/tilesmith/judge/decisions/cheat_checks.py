"""What makes a right answer a cheat: who computed it, when, and whether it was computed at all.

Each function looks at one observation and raises, or lets pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tilesmith.judge.gate_failed import GateFailed
from tilesmith.process.protocol.candidate import FirstCall, LaunchFingerprint
from tilesmith.process.protocol.reference import StepCoverage
from tilesmith.records import Verdict

LEAST_DRAWS = 2
"""On a single draw an honest epilogue may have nothing to do."""
CHANGED_LAUNCHES = "later calls launch {}: calls are counted, or results remembered"
_DECOY_SHARE = 0.9


def refuse_no_launch(launches: Sequence[str], where: str = "") -> None:
    if not launches:
        raise GateFailed(Verdict.CHEATING, f"{where}no Triton kernel was launched: PyTorch does all the work")


def refuse_changed_launches(first: Collection[str] | None, again: Sequence[str]) -> None:
    """A later call on the same inputs may launch less than the first, which prepares, but nothing else."""
    for launch in again:
        if first is not None and launch not in first:
            seen = CHANGED_LAUNCHES.format(f"{launch}, which the first call on the same inputs did not")
            raise GateFailed(Verdict.CHEATING, seen)


def looks_like_a_decoy(shares: Sequence[float]) -> bool:
    return len(shares) >= LEAST_DRAWS and min(shares) >= _DECOY_SHARE


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
