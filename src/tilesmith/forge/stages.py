"""Grid, then block, then memory: tuning that helps plain kernels and destroys delicate ones, so it is gated."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from tilesmith.forge.attempts import attempt_kernel, repair_kernel
from tilesmith.forge.plan_findings import WRONG_GRID, plan_findings
from tilesmith.forge.ranking import hardest_complexity
from tilesmith.forge.state import ForgeState
from tilesmith.records import Attempt, DecisionEvent, Event, Phase


class StagePermission(NamedTuple):
    """Whether a stage may touch a kernel, and how."""

    is_allowed: bool
    with_care: bool
    why: str
    lessons: tuple[str, ...] = ()
    """What the stage is there to repair."""


def tune(state: ForgeState) -> Generator[Event, None, None]:
    """Every stage starts from the best verified kernel; what does not improve it is dropped."""
    for stage in state.settings.chosen_stages():
        best = state.best
        if best is None:
            return
        if state.settings.stages == "auto" and best.score is None:
            yield DecisionEvent("stages", "left out: nothing is timed here, so no stage could show a gain")
            return
        permission = stage_permission(stage, best, state.plan_of(best).complexity)
        if not permission.is_allowed:
            yield DecisionEvent(f"stage {stage}", f"skipped: {permission.why}")
            continue
        request = state.new_request(
            Phase.STAGE, base=best, stage=stage, with_care=permission.with_care, lessons=permission.lessons
        )
        attempt = yield from attempt_kernel(state, request)
        if attempt is not None:
            yield from repair_kernel(state, attempt, state.settings.spare_repairs)


def stage_permission(stage: str, best: Attempt, planned: str) -> StagePermission:
    """By the kernel's complexity as read from its source, or as it was planned, whichever is harder."""
    complexity = hardest_complexity(best.evaluation.complexity, planned)
    what = f"{best.evaluation.kernel_type}, complexity {complexity}"
    if complexity in ("low", "unknown"):
        return StagePermission(True, False, what)
    if complexity == "medium":
        return StagePermission(True, True, what)
    if stage == "grid" and WRONG_GRID in plan_findings(best.evaluation):
        return StagePermission(True, False, f"{what}, but its grid spreads over the batch alone", (WRONG_GRID,))
    return StagePermission(False, False, f"{what}: changing its {stage} would more likely break it than help")
