"""Gates that are the same with a GPU and without one."""

from __future__ import annotations

from tilesmith.judge.decisions.cheat_checks import refuse_idle
from tilesmith.judge.examination import Examination, Findings


def refuse_needless_kernels(exam: Examination) -> Findings:
    """A right answer must come from the kernels: some were launched, and without them it is wrong."""
    refuse_idle(exam.findings.kernels)
    if exam.findings.replayed.accusation is not None:
        raise exam.findings.replayed.accusation
    return exam.findings
