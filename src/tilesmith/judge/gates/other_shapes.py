"""Other shapes of the same task: does the kernel work there too?"""

from __future__ import annotations

from dataclasses import replace

from tilesmith.errors import MachineError
from tilesmith.judge.examination import CheckFindings, Examination
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.sessions import ReferenceSession

GENERAL = "general"
EXACT_ONLY = "exact shape only"


def other_shapes(reference: ReferenceSession) -> list[str]:
    """The variants of the task whose sizes divide otherwise than its own."""
    return [name for name in reference.plans if name.startswith("odd")]


def check_other_shapes(exam: Examination, budget_s: float, watched: bool = False) -> CheckFindings:
    """Recorded; a failure only when asked for, or when it is cheating. Null where there is no other shape."""
    others = other_shapes(exam.reference)
    if not others:
        return exam.findings
    try:
        for name in others:
            exam.values.construct(name)
            exam.values.check(name, budget_s, watched=watched)
    except MachineError as error:
        return exam.findings.noting(f"other shapes were not checked: {error}")
    except GateFailed as failed:
        if exam.config.require_general or failed.is_conclusive:
            raise
        found = replace(exam.findings, generality=EXACT_ONLY)
        return found.noting(f"on other shapes: {failed.verdict}: {failed.reason}")
    return replace(exam.findings, generality=GENERAL)
