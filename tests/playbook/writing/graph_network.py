"""A small network of many launches, planned, and written with its pass in a CUDA graph."""

from __future__ import annotations

from playbook_surveys import survey_task
from playbook_tasks import owner, task

from tilesmith.playbook.plan.making import make_plan
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipe import Tuning, join_tunings
from tilesmith.playbook.recipes import REGION_RECIPES
from tilesmith.playbook.recipes.products import ProductsRecipe

SMALL_PRODUCTS = (*REGION_RECIPES[:-1], ProductsRecipe(keeps_pytorch=False))
LAYERS = owner(
    "self.first, self.second = nn.Linear(size, size), nn.Linear(size, size)",
    "self.norm, self.scale = nn.LayerNorm(size), 0.3131",
)
FORWARD = (
    "y = torch.relu(self.first(x)) * self.scale\n"
    "y = F.scaled_dot_product_attention(y, y, y)\n"
    "y = self.norm(torch.cumsum(y, -1) + x)\n"
    "z = torch.tanh(self.second(torch.sort(y, -1).values)) * 0.5\n"
    "z = F.scaled_dot_product_attention(z, y, torch.sort(z, -2).values)\n"
)
NETWORK = task(FORWARD + 'return {"sum": z + x, "both": (y, z)}', "x = torch.randn(2, 5, 24)", LAYERS, "24")


def plan_of(name: str, text: str) -> Plan:
    survey = survey_task(name, text)
    assert survey.graph is not None
    found = make_plan(survey, survey.graph, SMALL_PRODUCTS)
    assert isinstance(found, Plan), found
    return found


def graphed(plan: Plan) -> Tuning:
    """The first guess, launched from a graph."""
    (launching,) = (part for part in plan.parts if not part.is_kernel)
    return join_tunings([plan.tunings[0], launching.choices[-1]])
