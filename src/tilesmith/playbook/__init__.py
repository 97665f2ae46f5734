"""Expert recipes: match a task's graph, explain themselves, write kernels. No LLM, no network, no torch."""

from __future__ import annotations

import contextlib

from tilesmith.playbook.graph.operators import (
    ATTENTION,
    CONVOLUTIONS,
    PRODUCTS,
    has_known_work,
    list_unknown_operators,
    operator_name,
    trains_batch_norm,
)
from tilesmith.playbook.plan.costs import tell_time
from tilesmith.playbook.plan.effects import find_written_inputs
from tilesmith.playbook.plan.making import NO_RECIPE, SINGLES, make_plan, plan_parts
from tilesmith.playbook.recipe import Declined, Match
from tilesmith.playbook.recipes import RECIPES, REGION_RECIPES
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.records import Survey
from tilesmith.tasks.numbers.varying import remember_varying

LLM_ADVICE = _LLM = "tilesmith forge --model MODEL, or --base-url URL --model MODEL, has an LLM write it"
EVAL_ADVICE = _EVAL = "if it is for inference, add --eval or call self.eval() at the end of its __init__"

_last: list[tuple[Survey, Match | Declined]] = []
"""Every request of a run is about one survey."""


def find_match(survey: Survey) -> Match | Declined:
    """How the task would be written, or what to do because nothing here would gain anything, and why."""
    for known, found in _last:
        if known is survey:
            return found
    found = _find_match(survey)
    _last[:] = [(survey, found)]
    return found


def _find_match(survey: Survey) -> Match | Declined:
    if survey.graph is None:
        plan = plan_parts(survey, REGION_RECIPES)
        if not isinstance(plan, Declined):
            return plan
        why = survey.environment.get("untraced", "its forward pass could not be traced")
        return _kept(survey, f"no recipe for a task that cannot be traced; {_LLM}: {why}")
    if written := find_written_inputs(survey.graph):
        return _kept(
            survey, f"the task writes into its {', '.join(written)}, and a kernel must leave inputs as they are"
        )
    reasons: list[str] = []
    for recipe in RECIPES:
        found = recipe.match(survey, survey.graph)
        if not isinstance(found, Declined):
            return found
        if found.is_its_kind:
            reasons.append(f"{recipe.name}: {found.reason}")
    plan = make_plan(survey, remember_varying(survey.graph), REGION_RECIPES)
    if not isinstance(plan, Declined):
        return plan
    if plan.is_its_kind and has_known_work(survey.graph):
        reasons.append(plan.reason)
    if reasons:
        return _kept(survey, f"no recipe fits; {_LLM}: {reasons[0]}")
    if trains_batch_norm(survey.graph):
        small = "batch norm in training mode over less than a million float32 numbers"
        return _kept(survey, f"no recipe for {small}, which PyTorch does in one kernel; {_EVAL}; else {_LLM}")
    with contextlib.suppress(Unmatched):  # then that is the reason
        singles = f"; {SINGLES}" if has_known_work(survey.graph) else ""
        if unknown := list_unknown_operators(survey.graph, PRODUCTS | CONVOLUTIONS | ATTENTION):
            return _kept(survey, f"no recipe for {unknown}{singles}; {_LLM}")
        if any(operator_name(node) in ATTENTION for node in survey.graph.nodes):
            small = "attention of half types or with few FLOPs, which PyTorch's own function does as well"
            return _kept(survey, f"no recipe for {small}{singles}; {_LLM}")
        if any(operator_name(node) in PRODUCTS for node in survey.graph.nodes):
            small = "products smaller than 64 rows, a GFLOP or float32, which PyTorch's library does as well"
            return _kept(survey, f"no recipe for {small}{singles}; {_LLM}")
        if any(operator_name(node) in CONVOLUTIONS for node in survey.graph.nodes):
            small = "convolutions of groups, or with few FLOPs for copying their images"
            return _kept(survey, f"no recipe for {small}{singles}; {_LLM}")
    why = plan.reason.removeprefix(f"{NO_RECIPE}: ")
    told = f"{SINGLES}; {_LLM}" if why.startswith(SINGLES) else f"{NO_RECIPE}; {_LLM}"
    return _kept(survey, f"{told}: {why.removeprefix(f'{SINGLES}: ')}")


def _kept(survey: Survey, reason: str) -> Declined:
    """PyTorch is kept: where its time goes, and why nothing here would gain."""
    return Declined(f"{tell_time(survey)}; {reason}")
