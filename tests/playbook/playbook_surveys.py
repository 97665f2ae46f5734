"""What a recipe is told about a task, made in this process: no judge, no child."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache

from tilesmith.judge.decisions.task_roofline import roofline_on
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined, Match
from tilesmith.playbook.recipes.recurrent.recipe import RecurrentMatch, RecurrentRecipe
from tilesmith.records import GpuPeaks, Graph, Survey, from_json
from tilesmith.tasks.gpus import REPRESENTATIVES
from tilesmith.tasks.graph import graph_to_json


@cache
def survey_task(name: str, text: str, precision: str = "default", others: tuple[str, ...] = ()) -> Survey:
    """As a judge without a GPU would, for its usual target; `others` are texts of the task at other sizes."""
    from tilesmith.worker.task.loading import load_task
    from tilesmith.worker.task.profile import describe
    from tilesmith.worker.task.traced.parts import trace_parts
    from tilesmith.worker.task.tracing import trace_varying

    loaded, gpu = load_task(f"{name}.py", text), REPRESENTATIVES["sm_90"]
    traced, profile = trace_varying(loaded, others), describe(loaded)
    return Survey(
        task=name,
        source=text,
        device="cpu",
        profile=profile,
        gpu=from_json(GpuPeaks, asdict(gpu)),
        roofline=roofline_on(profile, gpu),
        graph=from_json(Graph, json.loads(json.dumps(graph_to_json(traced.graph)))) if traced.graph else None,
        parts=() if traced.graph else trace_parts(loaded, None),
        environment={"precision": precision} | ({"untraced": traced.reason} if traced.reason else {}),
    )


def match_task(name: str, text: str) -> Match:
    found = find_match(survey_task(name, text))
    assert not isinstance(found, Declined), found.reason
    return found


def match_recurrent(survey: Survey) -> RecurrentMatch:
    """What the recipe makes of a task, also of a small one that it would leave to cuDNN."""
    assert survey.graph is not None
    match = RecurrentRecipe(keeps_pytorch=False).match(survey, survey.graph)
    assert isinstance(match, RecurrentMatch), match
    return match
