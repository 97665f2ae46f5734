"""Every task of the benchmark is traced and planned at its full size, and what is planned can be written."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from playbook_surveys import survey_task

from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined
from tilesmith.playbook.task_plan import plan_lines, plan_task

FOLDER = Path(__file__).parents[2] / "benchmarks" / "playbook_tasks"
TASKS = {kind: sorted((FOLDER / kind).glob("*.py")) for kind in ("operators", "chains")}
MOST_BYTES = 1_500_000_000


@pytest.mark.parametrize("path", [path for paths in TASKS.values() for path in paths], ids=lambda path: path.stem)
def test_task_is_planned(path: Path) -> None:
    survey = survey_task(path.stem, path.read_text())
    assert survey.graph is not None, survey.environment["untraced"]
    assert survey.profile.bytes_moved is not None
    assert survey.profile.bytes_moved <= MOST_BYTES
    plan = plan_task(survey)
    assert plan_lines(plan)[0] == plan.told
    match = find_match(survey)
    assert plan.recipe_fits is not isinstance(match, Declined)
    if not isinstance(match, Declined):
        for tuning in match.tunings:
            ast.parse(match.write(tuning))


@pytest.mark.parametrize("kind", TASKS)
def test_there_are_enough(kind: str) -> None:
    assert len(TASKS[kind]) >= 30
