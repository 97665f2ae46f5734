"""A tuning is read back out of the text that was written for it, and out of no other."""

from __future__ import annotations

from playbook_surveys import match_task
from playbook_tasks import ROWS

from tilesmith.playbook.tuning import find_tuning


def test_a_kernel_that_was_changed_by_hand_is_nobodys_tuning() -> None:
    match = match_task("softmax", ROWS["softmax"])
    source = match.write(match.tunings[0])
    assert find_tuning(match, source.replace("tl.exp(", "tl.exp2(")) is None
    assert find_tuning(match, "not python (") is None
    assert find_tuning(match, source.rstrip()) == match.tunings[0]
