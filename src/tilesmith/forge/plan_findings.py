"""The lint rules that a plan is checked by: a kernel that breaks one may be right, but no expert would plan it so.

Such a kernel is sent back once with the rules' lessons, and counts as worse where nothing is timed.
"""

from __future__ import annotations

from tilesmith.records import Evaluation, Severity

WRONG_GRID = "grid-batch-only"
"""The one that a tuning stage may put right even in a delicate kernel."""
PLAN_FINDINGS = frozenset(
    {
        "time-loop-on-host",
        WRONG_GRID,
        "scalar-vector-loop",
        "direct-convolution",
        "small-launch-count",
        "no-tensor-core",
        "decoy-kernel",
    }
)


def plan_findings(evaluation: Evaluation) -> tuple[str, ...]:
    """The ids of those that were found, each once."""
    found = (f.id for f in evaluation.findings if f.severity is Severity.WARNING and f.id in PLAN_FINDINGS)
    return tuple(dict.fromkeys(found))
