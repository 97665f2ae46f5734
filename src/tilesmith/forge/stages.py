"""Grid, then block, then memory: tuning that helps plain kernels and destroys delicate ones, so it is gated."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from tilesmith.forge.bench import Bench
from tilesmith.forge.ranking import gravest, plan_findings
from tilesmith.forge.trying import mended, try_kernel
from tilesmith.records import Attempt, Decision, Event, Phase

WRONG_GRID = "grid-batch-only"


class Gate(NamedTuple):
    """Whether a stage may touch a kernel, and how."""

    is_open: bool
    with_care: bool
    why: str
    lessons: tuple[str, ...] = ()
    """What the stage is there to mend."""


def tune(bench: Bench) -> Generator[Event, None, None]:
    """Every stage starts from the best verified kernel; what does not improve it is dropped."""
    for stage in bench.dials.chosen_stages():
        best = bench.best
        if best is None:
            return
        if bench.dials.stages == "auto" and best.score is None:
            yield Decision("stages", "left out: nothing is timed here, so no stage could show a gain")
            return
        gate = gate_for(stage, best, bench.plan_of(best).complexity)
        if not gate.is_open:
            yield Decision(f"stage {stage}", f"skipped: {gate.why}")
            continue
        request = bench.request(Phase.STAGE, base=best, stage=stage, with_care=gate.with_care, lessons=gate.lessons)
        attempt = yield from try_kernel(bench, request)
        if attempt is not None:
            yield from mended(bench, attempt, bench.dials.spare_repairs)


def gate_for(stage: str, best: Attempt, planned: str) -> Gate:
    """By the kernel's complexity as read from its source, or as it was planned, whichever is graver."""
    complexity = gravest(best.evaluation.complexity, planned)
    what = f"{best.evaluation.kernel_type}, complexity {complexity}"
    if complexity in ("low", "unknown"):
        return Gate(True, False, what)
    if complexity == "medium":
        return Gate(True, True, what)
    if stage == "grid" and WRONG_GRID in plan_findings(best.evaluation):
        return Gate(True, False, f"{what}, but its grid spreads over the batch alone", (WRONG_GRID,))
    return Gate(False, False, f"{what}: changing its {stage} would more likely break it than help")
