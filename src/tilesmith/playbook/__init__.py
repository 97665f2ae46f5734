"""Expert recipes: match a task's graph, explain themselves, write kernels. No LLM, no network, no torch."""

from __future__ import annotations

import contextlib

from tilesmith.playbook.graph.operators import PRODUCTS, list_unknown_operators, operator_name, trains_batch_norm
from tilesmith.playbook.plan.plan import make_plan
from tilesmith.playbook.recipe import Declined, Match
from tilesmith.playbook.recipes import RECIPES, REGION_RECIPES
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.records import Survey

LLM_ADVICE = _LLM = "add --model MODEL, or --base-url URL --model MODEL, to have an LLM write it"
EVAL_ADVICE = _EVAL = "if it is for inference, add --eval or call self.eval() at the end of its __init__"


def find_match(survey: Survey) -> Match | Declined:
    """How the task would be written, or what to do because nothing here would gain anything, and why."""
    if survey.graph is None:
        why = survey.environment.get("untraced", "its forward pass could not be traced")
        return Declined(f"no recipe for a task that cannot be traced; {_LLM}: {why}")
    reasons: list[str] = []
    for recipe in RECIPES:
        found = recipe.match(survey, survey.graph)
        if not isinstance(found, Declined):
            return found
        if found.is_its_kind:
            reasons.append(f"{recipe.name}: {found.reason}")
    plan = make_plan(survey, survey.graph, REGION_RECIPES)
    if not isinstance(plan, Declined):
        return plan
    if reasons:
        return Declined(f"no recipe fits; {_LLM}: {reasons[0]}")
    if trains_batch_norm(survey.graph):
        return Declined(f"no recipe for batch norm in training mode; {_EVAL}; else {_LLM}")
    with contextlib.suppress(Unmatched):  # then that is the reason
        if unknown := list_unknown_operators(survey.graph, PRODUCTS):
            return Declined(f"no recipe for {unknown}; {_LLM}")
        if any(operator_name(node) in PRODUCTS for node in survey.graph.nodes):
            small = "products smaller than 64 rows, a GFLOP or float32, which PyTorch's library does as well"
            return Declined(f"no recipe for {small}; {_LLM}")
    return Declined(f"no recipe fits; {_LLM}: {plan.reason}")
