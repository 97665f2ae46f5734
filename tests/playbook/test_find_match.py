"""What no recipe knows is declined in one line that says why; a judge's survey matches as ours does."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import recurrent_tasks
from playbook_surveys import survey_task
from playbook_tasks import DECLINED, ROWS

from tilesmith.judge import Judge
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined

EVERY = DECLINED | {f"recurrent_{name}": declined for name, declined in recurrent_tasks.DECLINED.items()}
del EVERY["recurrent_named_like_ours"]  # its other operators make a kernel


@pytest.mark.parametrize("name", EVERY)
def test_what_no_recipe_knows_is_declined_with_a_reason(name: str) -> None:
    text, reason = EVERY[name]
    found = find_match(survey_task(name, text))
    assert isinstance(found, Declined)
    assert reason in found.reason
    assert ("--model" in found.reason) == ("writes into" not in reason), "no model could write that kernel"
    assert "\n" not in found.reason


def test_a_packed_sequence_is_declined() -> None:
    """By its trace, as on a GPU: the judge without one cannot run such a task."""
    packed = survey_task("packed", recurrent_tasks.PACKED)
    assert packed.graph is None
    found = find_match(replace(packed, environment={"untraced": packed.environment["untraced"]}))
    assert isinstance(found, Declined)
    assert "pack_padded_sequence" in found.reason


@pytest.mark.parametrize("name", ["softmax", "boolean_sum"])
def test_a_judge_surveys_a_task_as_these_tests_do(name: str, judge: Judge, tmp_path: Path) -> None:
    text = ROWS[name] if name in ROWS else DECLINED[name][0]
    task = tmp_path / f"{name}.py"
    task.write_text(text)
    theirs, ours = (json.loads(json.dumps(asdict(one))) for one in (judge.survey(task), survey_task(name, text)))
    theirs["graph"].pop("varying")  # it knows more shapes
    ours["graph"].pop("varying")
    for part in ("graph", "gpu", "roofline", "profile"):
        assert theirs[part] == ours[part]
