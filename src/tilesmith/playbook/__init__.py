"""Expert recipes: match a task's graph, explain themselves, write kernels. No LLM, no network, no torch."""

from __future__ import annotations

from tilesmith.playbook.recipe import Declined, Match
from tilesmith.playbook.recipes import RECIPES
from tilesmith.records import Survey

_OTHERS = "; name an LLM author with --model to go on"


def find_match(survey: Survey) -> Match | Declined:
    """The first recipe that matches, or why none does."""
    if survey.graph is None:
        why = survey.environment.get("untraced", "its forward pass could not be traced")
        return Declined(f"no recipe: {why}{_OTHERS}")
    reasons: dict[str, str] = {}
    for recipe in RECIPES:
        found = recipe.match(survey, survey.graph)
        if not isinstance(found, Declined):
            return found
        if found.is_its_kind:
            return Declined(f"no recipe fits. {recipe.name}: {found.reason}{_OTHERS}")
        reasons[recipe.name] = found.reason
    if len(set(reasons.values())) == 1:
        return Declined(f"no recipe fits: {next(iter(reasons.values()))}{_OTHERS}")
    told = ". ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return Declined(f"no recipe fits. {told}{_OTHERS}")
