"""From a task's graph to its plan."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Sequence
from math import prod

from tilesmith.playbook.graph.algebra import simplify
from tilesmith.playbook.graph.operators import find_working_nodes, operator_name
from tilesmith.playbook.plan.chained.layouts import chain, find_unchained
from tilesmith.playbook.plan.effects import OrderedGraph, has_autocast, order, reads_what_it_writes
from tilesmith.playbook.plan.forward import PlannedForward, record_names
from tilesmith.playbook.plan.part_classes import IS_LIKE, can_be_written
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.plan.regions import PlannedRegion, Step, cut
from tilesmith.playbook.plan.rewriting.complex_numbers import without_complex_numbers
from tilesmith.playbook.plan.rewriting.decompositions import decompose
from tilesmith.playbook.recipe import Declined, Region, RegionRecipe
from tilesmith.playbook.recipes.attention.sources import NAMES as OF_ATTENTION
from tilesmith.playbook.recipes.convolutions.sources import NAMES as OF_CONVOLUTIONS
from tilesmith.playbook.recipes.products.sources import NAMES as OF_PRODUCTS
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.cuda_graphs import NAMES as OF_GRAPHS
from tilesmith.playbook.writing.task_code import TaskCode, read_outer_code, read_task_code
from tilesmith.records import Survey
from tilesmith.tasks.graph import Graph

_NAMES = OF_PRODUCTS | OF_CONVOLUTIONS | OF_ATTENTION | OF_GRAPHS
"""What written files have at module level."""

NO_RECIPE = "no recipe fits"
SINGLES = "a kernel for a single operator between others would be PyTorch's equal"

_SLOW_ALONE = {"layer_norm", "rms_norm", "group_norm", "batch_norm", "log_softmax", "cumsum", "cumprod"}
"""Of these eager PyTorch moved at most 72 % of what a copy moves on an H200, and kernels from here more each time;
products were not measured and go as sums do. Instance norms were slower here."""
_ENOUGH_ALONE = 1 << 20
"""Numbers: with fewer, launching takes longer than the work."""


def make_plan(survey: Survey, graph: Graph, recipes: Sequence[RegionRecipe]) -> Plan | Declined:
    """Declined where the task's own code cannot be repeated, or no region has a recipe."""
    try:
        code = read_task_code(survey, record_names(graph.outputs), _NAMES)
        ordered, notes = _simplified(graph)
        whole = Region(ordered.graph, survey, _taken(code, graph))
        steps = _cut(ordered, whole, recipes)
        plan = Plan(survey, code, (PlannedForward(ordered.graph, steps, code.signature),), notes)
        if not plan.regions:
            has_some = any(isinstance(step, PlannedRegion) for step in cut(ordered, whole, recipes))
            return Declined(f"{SINGLES if has_some else NO_RECIPE}: {_why_nothing(whole, recipes)}")
        plan.write(plan.tunings[0])
    except Unmatched as reason:
        return Declined(f"the task {reason}", is_its_kind=True)
    return plan


def _simplified(graph: Graph) -> tuple[OrderedGraph, tuple[str, ...]]:
    """The graph with composite operators written out and needless work removed, and what that was."""
    if has_autocast(graph):  # which types those would compute in, nobody says
        return order(graph), ()
    ordered = order(decompose(without_complex_numbers(graph)))
    simple = simplify(ordered.graph)
    is_better = simple.notes and not reads_what_it_writes(ordered.graph)
    return (order(simple.graph), simple.notes) if is_better else (ordered, ())


def plan_parts(survey: Survey, recipes: Sequence[RegionRecipe]) -> Plan | Declined:
    """For a task that cannot be traced: the modules inside it that can be, each with kernels of its own."""
    try:
        code = read_outer_code(survey, _NAMES)
        forwards: list[PlannedForward] = []
        notes: list[str] = []
        launchers: set[str] = {IS_LIKE}
        for part in survey.parts:
            if not can_be_written(part, code):
                continue
            ordered, removed = _simplified(part.graph)
            taken = _taken(code, part.graph) | launchers
            steps = _worth_it(_cut(ordered, Region(ordered.graph, survey, taken), recipes))
            forward = PlannedForward(ordered.graph, steps, part.signature, part)
            if forward.regions:
                forwards.append(forward)
                notes += removed
                names = {region.match.name for region in forward.regions}
                launchers |= names | {f"{name}_kernel" for name in names}
        if not forwards:
            return Declined("the task cannot be traced, and no module inside it has a recipe")
        plan = Plan(survey, code, tuple(forwards), tuple(dict.fromkeys(notes)))
        plan.write(plan.tunings[0])
    except Unmatched as reason:
        return Declined(f"the task {reason}")
    return plan


def _taken(code: TaskCode, graph: Graph) -> frozenset[str]:
    """Names that a kernel must leave alone."""
    arguments = {given.argument for given in graph.inputs}
    return code.names | arguments | set(dir(builtins)) | set(keyword.kwlist)


def _cut(ordered: OrderedGraph, whole: Region, recipes: Sequence[RegionRecipe]) -> tuple[Step, ...]:
    steps = cut(ordered, whole, recipes)
    if len(steps) == 1:
        return steps
    if unchained := find_unchained(ordered.graph, steps):
        steps = cut(ordered, whole, recipes, unchained)
    return chain(ordered.graph, _worth_it(steps), whole.taken)


def _worth_it(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Where PyTorch takes part, a kernel for most single operators would only be its equal."""
    kept: list[Step] = []
    for step in steps:
        if isinstance(step, PlannedRegion) and not step.match.is_worth_it and not _is_slow_alone(step):
            kept += step.nodes
        else:
            kept.append(step)
    return tuple(kept)


def _is_slow_alone(region: PlannedRegion) -> bool:
    names = {operator_name(node) for node in find_working_nodes(region.graph)}
    numbers = max(prod(node.shape or ()) for node in region.nodes)
    return bool(names) and names <= _SLOW_ALONE and numbers >= _ENOUGH_ALONE


def _why_nothing(whole: Region, recipes: Sequence[RegionRecipe]) -> str:
    answers = {recipe.name: recipe.match(whole) for recipe in recipes}
    reasons = {name: answer.reason for name, answer in answers.items() if isinstance(answer, Declined)}
    if len(set(reasons.values())) == 1:
        return next(iter(reasons.values()))
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
