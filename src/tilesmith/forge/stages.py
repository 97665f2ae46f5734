"""Grid, then block, then memory: tuning that helps plain kernels and destroys delicate ones, so it is gated."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from tilesmith.forge.bench import Bench
from tilesmith.forge.ranking import plan_findings
from tilesmith.forge.trying import try_kernel
from tilesmith.records import COMPLEXITIES, Analysis, Attempt, Decision, Event, Phase

WRONG_GRID = "grid-batch-only"


class Gate(NamedTuple):
    """Whether a stage may touch a kernel, and how."""

    is_open: bool
    with_care: bool
    why: str


def tune(bench: Bench) -> Generator[Event, None, None]:
    """Every stage starts from the best verified kernel; what does not improve it is dropped."""
    for stage in bench.dials.chosen_stages():
        if bench.best is None:
            return
        if bench.dials.stages == "auto" and bench.best.score is None:
            yield Decision("stages", "left out: nothing is timed here, so no stage could show a gain")
            return
        gate = gate_for(stage, bench.best, bench.analyses.get(bench.best.candidate.number))
        if not gate.is_open:
            yield Decision(f"stage {stage}", f"skipped: {gate.why}")
            continue
        request = bench.request(Phase.STAGE, base=bench.best, stage=stage, with_care=gate.with_care)
        yield from try_kernel(bench, request)
        bench.stop_if_target_met()


def gate_for(stage: str, best: Attempt, analysis: Analysis | None) -> Gate:
    """By the kernel's complexity as read from its source, or as its analysis foretold, whichever is graver."""
    claimed = analysis.complexity if analysis else "low"
    complexity = max(best.evaluation.complexity, claimed, key=_gravity)
    what = f"{best.evaluation.kernel_type}, complexity {complexity}"
    if complexity in ("low", "unknown"):
        return Gate(True, False, what)
    if complexity == "medium":
        return Gate(True, True, what)
    if stage == "grid" and WRONG_GRID in plan_findings(best.evaluation):
        return Gate(True, True, f"{what}, but its grid spreads over the batch alone")
    return Gate(False, False, f"{what}: changing its {stage} would more likely break it than help")


def _gravity(complexity: str) -> int:
    return COMPLEXITIES.index(complexity) if complexity in COMPLEXITIES else 0
