"""Other shapes of the same task: does the kernel work there too?"""

from __future__ import annotations

from tilesmith.errors import MachineError
from tilesmith.judge.examination import Examination
from tilesmith.judge.gates.values import Values
from tilesmith.judge.sessions import Failed, ReferenceSession
from tilesmith.records import Verdict

GENERAL = "general"
EXACT_ONLY = "exact shape only"


def generality(
    exam: Examination, reference: ReferenceSession, values: Values, budget_s: float, watched: bool = False
) -> str | None:
    """Recorded; a failure only when asked for, or when it is cheating. None where there is no other shape."""
    others = [name for name in reference.plans if name.startswith("odd")]
    if not others:
        return None
    try:
        for name in others:
            values.construct(name)
            values.check(name, budget_s, watched=watched)
    except MachineError as error:
        exam.notes.append(f"other shapes were not checked: {error}")
        return None
    except Failed as failed:
        if exam.config.require_general or failed.verdict is Verdict.CHEATING:
            raise
        exam.notes.append(f"on other shapes: {failed.verdict}: {failed.reason}")
        return EXACT_ONLY
    return GENERAL
