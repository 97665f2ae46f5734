"""Gates that are the same with a GPU and without one."""

from __future__ import annotations

from tilesmith.judge.decisions.cheat_checks import refuse_no_launch
from tilesmith.judge.examination import CheckFindings, Examination


def refuse_needless_kernels(exam: Examination) -> CheckFindings:
    """A right answer must come from the kernels: some were launched, and without them it is wrong."""
    refuse_no_launch(exam.findings.kernels)
    if exam.findings.replayed.accusation is not None:
        raise exam.findings.replayed.accusation
    return exam.findings
