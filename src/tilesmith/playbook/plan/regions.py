"""Cuts a forward pass into regions, each as large as one recipe takes; what is left stays PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from tilesmith.playbook.graph.loops import find_loops
from tilesmith.playbook.graph.lowering import list_outputs
from tilesmith.playbook.graph.operators import is_free, is_known, is_view, operator_name
from tilesmith.playbook.graph.sums.attention import find_cores
from tilesmith.playbook.graph.sums.running_sums import find_running_sums
from tilesmith.playbook.plan.chained.side_by_side import SharedImages, find_shared_images
from tilesmith.playbook.plan.effects import OrderedGraph
from tilesmith.playbook.plan.subgraphs import extract, find_views_of_inputs, renamed, structure
from tilesmith.playbook.recipe import Declined, Region, RegionMatch, RegionRecipe
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references

_MOST_TRIALS = 4000
"""Nodes that are tried in a region, all together: beyond that the rest stays PyTorch's."""


@dataclass(frozen=True, eq=False)
class PlannedRegion:
    """Nodes that one kernel computes; equal only to itself."""

    nodes: tuple[Node, ...]
    graph: Graph
    """With short names of its own, those of the first region that does the same."""
    names: dict[str, str]
    """What the whole graph calls the values of the region's graph."""
    match: RegionMatch
    """The same for regions that do the same."""
    recipe: str

    @cached_property
    def structure(self) -> object:
        return structure(self.graph)

    @property
    def outputs(self) -> tuple[str, ...]:
        """As the whole graph calls them."""
        return tuple(self.names[name] for name in list_outputs(self.graph))


_OF_IMAGES = ("convolutions", "pools", "concatenations")
"""Recipes whose results convolutions may take as halves."""
Step = PlannedRegion | Node
"""A kernel, or one operator that PyTorch computes."""


def cut(
    ordered: OrderedGraph, region: Region, recipes: Sequence[RegionRecipe], unchained: Collection[str] = ()
) -> tuple[Step, ...]:
    """Every node once, in an order in which they can be computed. `region` is the whole pass; what is `unchained`
    does not pass from one convolution's kernel to another as halves."""
    return _Cutter(ordered, region, recipes, unchained).steps()


class _Cutter:
    def __init__(
        self, ordered: OrderedGraph, whole: Region, recipes: Sequence[RegionRecipe], unchained: Collection[str]
    ) -> None:
        self._ordered, self._whole, self._recipes, self._unchained = ordered, whole, recipes, set(unchained)
        self._nodes = {node.name: node for node in ordered.graph.nodes}
        self._place = {name: position for position, name in enumerate(self._nodes)}
        self._users: dict[str, list[str]] = {name: [] for name in self._nodes}
        for name, earlier in ordered.before.items():
            for one in earlier:
                self._users[one].append(name)
        self._above = self._ancestors()
        self._needed = {node.name: set(references([node.args, node.kwargs])) for node in ordered.graph.nodes}
        self._taking = dict(self._needed)  # nodes of regions take what these do: views are made by who needs them
        self._results = {*references(ordered.graph.outputs), *ordered.graph.assigned.values()}
        self._assigned: set[str] = set()
        self._viewed: set[str] = set()
        """What a region makes for itself of its inputs: no result of whoever makes these."""
        self._taken = whole.taken
        self._planned: list[PlannedRegion] = []
        chains = any(recipe.name == "concatenations" for recipe in recipes) and _is_in_tf32(whole)
        self._shared = find_shared_images(ordered.graph, unchained) if chains else SharedImages()
        self._trials = 0

    def steps(self) -> tuple[Step, ...]:
        if all(map(self._is_fusable, self._nodes)) and (whole := self._matched(set(self._nodes))) is not None:
            return (whole,)
        graph = self._ordered.graph
        loops = (set(loop.names) for loop in chain(find_loops(graph), find_running_sums(graph)))
        for core in chain(loops, find_cores(graph)):
            if not core & self._assigned and all(map(self._is_fusable, core)):
                self._plan(self._grown(core))
                self._assigned |= (
                    core if self._assigned & core else set()
                )  # views, too: whoever comes later is above
        for name in self._nodes:
            if name in self._shared.joined:
                self._join(name)
            elif name not in self._assigned | self._shared.before and self._may_start(name):
                self._plan(self._grown({name}))
        for name in self._nodes:  # what was left for convolutions that did not take it
            if name not in self._assigned and self._may_start(name):
                self._plan(self._grown({name}))
        return self._in_order(self._planned)

    def _join(self, name: str) -> None:
        """A concatenation of images, by itself: it is no work, and no part of any."""
        self._shared = replace(self._shared, joined=self._shared.joined - {name})
        found = self._matched({name}, is_address=True)
        if found is not None and found.recipe == "concatenations":
            self._assigned |= {name}
            self._plan(found)
        elif self._may_start(name):
            self._plan(self._grown({name}))

    def _plan(self, found: PlannedRegion | None) -> None:
        if found is not None:
            found = self._joined(found)
            self._planned.append(self._as_its_twin(found))
            inputs = {found.names[one.name] for one in found.graph.inputs if one.shape is not None}
            self._taking |= dict.fromkeys((node.name for node in found.nodes), inputs)
            self._taken |= {found.match.name, f"{found.match.name}_kernel"}

    def _joined(self, region: PlannedRegion) -> PlannedRegion:
        """With earlier regions whose results only it needs, at places that no single node needs: those of a pool,
        or of a view."""
        for one in reversed(self._planned[:]):
            names = {node.name for node in (*one.nodes, *region.nodes)}
            users = {user for name in one.outputs for user in self._users[name]}
            feeds_it = users <= names and not self._results & set(one.outputs)
            feeds_it = feeds_it and "concatenations" not in (one.recipe, region.recipe)
            if feeds_it and self._is_convex(names) and (wider := self._matched(names)) is not None:
                self._planned.remove(one)
                region = wider
        return region

    def _as_its_twin(self, region: PlannedRegion) -> PlannedRegion:
        """Computed by the kernel of an earlier region, where that does the same."""
        for one in self._planned:
            if one.structure == region.structure:
                names = dict(zip(one.names, region.names.values(), strict=True))
                return replace(region, graph=one.graph, names=names, match=one.match)
        return region

    def _may_start(self, name: str) -> bool:
        return not is_free(self._nodes[name]) and not self._is_made(name) and self._is_fusable(name)

    def _is_made(self, name: str) -> bool:
        """Whether a node takes nothing but the form of another: whoever needs it makes it."""
        return operator_name(self._nodes[name]).endswith("s_like")

    def _is_fusable(self, name: str) -> bool:
        node = self._nodes[name]
        if node.op == GETITEM:
            return name not in self._assigned and self._is_fusable(str(reference(node.args[0])))
        known = any(recipe.knows(node) for recipe in self._recipes)
        is_left = name not in self._assigned and name not in self._shared.joined
        return known and is_left and name not in self._ordered.effects

    def _grown(self, start: set[str]) -> PlannedRegion | None:
        inside = self._with_results(start)
        found = self._matched(inside)
        for extra in self._extras(inside, set())[:-1]:
            wider = inside | extra
            if self._is_convex(wider) and (better := self._matched(wider)) is not None:
                inside, found = wider, better
                break
        if found is None:
            return None
        if found.recipe == "loops":
            inside, found = self._with_own_producers(inside, found)
        users = {user for name in inside for user in self._users[name] if self._is_fusable(user)} - inside
        if found.recipe == "products" and len(users) > 1:  # all of them at once may spare the product itself
            wider = inside | self._with_results(users)
            wider |= self._unassigned_producers(wider, set(), lambda _: True)
            if self._is_convex(wider) and (better := self._matched(wider)) is not None:
                inside, found = wider, better
        refused: set[str] = set()
        while (name := self._next(inside, refused)) is not None:
            added = self._with_results({name})
            for extra in self._extras(added, inside):
                trial = inside | added | extra
                if self._is_convex(trial) and (better := self._matched(trial)) is not None:
                    inside, found = trial, better
                    break
            else:
                refused.add(name)
        if found.recipe == "convolutions" and (pooled := self._with_pool(inside)) is not None:
            found, inside = pooled, {node.name for node in pooled.nodes}
        views = find_views_of_inputs(found.nodes)
        self._assigned |= inside - views
        self._viewed |= views
        return found

    def _with_own_producers(self, inside: set[str], found: PlannedRegion) -> tuple[set[str], PlannedRegion]:
        """With what only the region needs, one node after the other: a loop computes that where it needs it."""
        refused: set[str] = set()
        while True:
            before = (
                {one for name in inside for one in self._ordered.before[name]} - inside - refused - self._results
            )
            own = [one for one in before if self._is_fusable(one) and set(self._users[one]) <= inside]
            if not own:
                return inside, found
            name = max(own, key=self._place.__getitem__)
            if (better := self._matched(inside | {name})) is not None:
                inside, found = inside | {name}, better
            else:
                refused.add(name)

    def _with_pool(self, inside: set[str]) -> PlannedRegion | None:
        """With all that is computed from its results alone, up to where that comes to one value: a pool, no single
        node of which fits."""
        names = set(inside)
        while users := {
            user
            for name in names
            for user in self._users[name]
            if user not in names | self._shared.before
            and self._is_fusable(user)
            and self._ordered.before[user] <= names
        }:
            names |= users
            opened = [one for one in names if one in self._results or not set(self._users[one]) <= names]
            if len(opened) == 1 and not is_free(self._nodes[opened[0]]):
                return self._matched(names)
        return None

    def _next(self, inside: set[str], refused: set[str]) -> str | None:
        """The first node that takes a result of the region and might belong to it."""
        users = {user for name in inside for user in self._users[name]} - self._shared.before - self._viewed
        fitting = [name for name in users - inside - refused if self._is_fusable(name) and not self._is_made(name)]
        return min(fitting, key=self._place.__getitem__, default=None)

    def _with_results(self, names: set[str]) -> set[str]:
        """Where an operator gives several results, those that are taken come along."""
        several = {name for name in names if self._nodes[name].shape is None}
        return names | {user for name in several for user in self._users[name] if self._nodes[user].op == GETITEM}

    def _extras(self, added: set[str], inside: set[str]) -> list[set[str]]:
        """What else a region could compute for itself and nodes that are added: all that it can, all that these
        need, that without products, casts and views of that, nothing."""
        everything = self._unassigned_producers(added | inside, set(), lambda _: True)
        needed = self._unassigned_producers(added, inside, lambda _: True)
        found = [everything, needed]
        found += [self._unassigned_producers(added, inside, is_wanted) for is_wanted in (is_known, is_free)]
        return [extra for place, extra in enumerate(found) if extra and extra not in found[:place]] + [set()]

    def _unassigned_producers(
        self, names: set[str], inside: set[str], is_wanted: Callable[[Node], bool]
    ) -> set[str]:
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            for name in self._ordered.before[waiting.pop()]:
                is_new = name not in found | names | inside
                if is_new and is_wanted(self._nodes[name]) and self._is_fusable(name):
                    found.add(name)
                    waiting.append(name)
        return found

    def _is_convex(self, names: set[str]) -> bool:
        """Whether no path leaves the region and comes back."""
        mask = sum(1 << self._place[name] for name in names)
        outside = {one for name in names for one in self._ordered.before[name]} - names
        return not any(self._above[name] & mask for name in outside)

    def _ancestors(self) -> dict[str, int]:
        above: dict[str, int] = {}
        for name in self._nodes:
            mask = 0
            for one in self._ordered.before[name]:
                mask |= above[one] | 1 << self._place[one]
            above[name] = mask
        return above

    def _matched(self, names: set[str], is_address: bool = False) -> PlannedRegion | None:
        self._trials += 1
        if self._trials > _MOST_TRIALS:
            return None
        nodes = tuple(self._nodes[name] for name in sorted(names, key=self._place.__getitem__))
        if len(nodes) == len(self._nodes) and not self._ordered.graph.assigned:
            graph = self._ordered.graph
            graph_names = {one.name: one.name for one in (*graph.leaves, *graph.nodes)}
        else:
            graph, graph_names = renamed(extract(self._ordered.graph, nodes, self._needed, self._taking))
        made = {name for one in self._planned if one.recipe in _OF_IMAGES for name in one.outputs}
        made -= self._unchained
        convolved = frozenset(one.name for one in graph.inputs if graph_names[one.name] in made)
        region = replace(self._whole, graph=graph, taken=self._taken, convolved=convolved, is_address=is_address)
        for recipe in self._recipes:
            match = recipe.match(region)
            if not isinstance(match, Declined):
                return PlannedRegion(nodes, graph, graph_names, match, recipe.name)
        return None

    def _in_order(self, regions: Iterable[PlannedRegion]) -> tuple[Step, ...]:
        step_of: dict[str, Step] = {}
        wanted = set(self._results)
        for region in regions:
            own = {node.name for node in region.nodes} - find_views_of_inputs(region.nodes)
            step_of |= dict.fromkeys(own, region)
            wanted |= {region.names[given.name] for given in region.graph.inputs}
        for node in reversed([node for node in self._nodes.values() if node.name not in step_of]):
            if node.name in wanted or not is_view(node):  # a view that only kernels need, they make themselves
                step_of[node.name] = node
                wanted |= set(references([node.args, node.kwargs]))
        return tuple(_sorted(step_of, self._ordered.before, self._place.__getitem__))


def _is_in_tf32(whole: Region) -> bool:
    return whole.survey.environment.get("precision") != "ieee"


def _sorted(
    step_of: dict[str, Step], before: dict[str, frozenset[str]], place: Callable[[str], int]
) -> Iterable[Step]:
    """Whatever can be computed, in the order of the pass itself."""
    done: set[str] = set()
    waiting = sorted(step_of, key=place)
    while waiting:
        for name in waiting:
            step = step_of[name]
            names = {node.name for node in step.nodes} if isinstance(step, PlannedRegion) else {name}
            if all(before[one] <= done | names for one in names):
                yield step
                done |= {one for one in names if step_of.get(one) is step}
                waiting = [one for one in waiting if one not in done]
                break
        else:
            raise AssertionError("regions that wait for one another")
