"""Steps of a loop that keep a running sum of outer products: `state = decay * state + keys x values`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tilesmith.playbook.graph.loops import Loop
from tilesmith.playbook.graph.moves import make_move
from tilesmith.playbook.graph.steps import GIVEN, MOVE, VIEW, KernelStep
from tilesmith.playbook.graph.symbols import Axis, Dim, SymbolicShape
from tilesmith.playbook.recipes.loops.steps import LoopLowering
from tilesmith.playbook.recipes.products.tiles import HALF_TYPES
from tilesmith.playbook.unmatched import Unmatched


@dataclass(frozen=True, eq=False)
class Recurrence:
    """The parts of a step. What is multiplied is a list of factors, which may lack dimensions."""

    state: KernelStep
    """Before the step, and after it."""
    made: KernelStep
    start: KernelStep
    mixed: KernelStep
    """The sum of the queries times the state, in a step or for all steps."""
    decays: tuple[Any, ...]
    queries: tuple[Any, ...]
    keys: tuple[Any, ...]
    values: tuple[Any, ...]
    rows: tuple[Dim, ...]
    """Dimensions that count states."""
    depth: Dim
    """Of keys and queries."""
    width: Dim
    """Of values."""
    is_turned: bool
    """Whether a state has the values' dimension before that of the keys."""


def find_recurrence(loop: Loop, low: LoopLowering) -> Recurrence:
    """The parts of the loop's step; raises Unmatched where it is something else."""
    if len(loop.states) != 1 or loop.is_backward:
        raise Unmatched("has several states, or begins at the end")
    (before, after), canonical = loop.states[0], low.symbols.canonical
    state, made = low.step(before), low.step(after)
    sums = [one for one in _all_steps(low) if one.op == "sum" and made in _factors(low, one.operands[0])]
    if made.op != "add" or made.options or len(made.operands) != 2 or len(sums) != 1:
        raise Unmatched("has no state that is added to, and summed up once")
    decays, update = (_factors(low, one) for one in made.operands)
    decays, update = (decays, update) if state in decays else (update, decays)
    queries = _factors(low, sums[0].operands[0])
    if [decays.count(state), queries.count(made)] != [1, 1] or state in (*update, *queries):
        raise Unmatched("has a state that is no multiple of the one before and something new")
    decays.remove(state)
    queries.remove(made)
    kinds = {one.dtype for one in (*decays, *update, *queries) if isinstance(one, KernelStep)}
    if not {made.dtype, sums[0].dtype} <= {"float32", *HALF_TYPES} or "float64" in kinds:
        raise Unmatched("has a state of numbers that tensor cores do not multiply")
    dims = [canonical(dim) for dim in made.form.dims if canonical(dim)]
    summed = [canonical(sums[0].operands[0].form.dims[axis]) for axis in sums[0].options["axes"]]
    if len(set(dims)) < max(len(dims), 2) or summed not in (dims[-1:], dims[-2:-1]):
        raise Unmatched("sums up something else than rows or columns of a state")
    depth, width = dims[-2:] if summed == dims[-2:-1] else dims[:-3:-1]

    def along(factors: Sequence[Any], *dims: Dim) -> list[Any]:
        """Those that are others for each place along one of these."""
        wanted = {axis for dim in dims for axis in dim}
        return [one for one in factors if isinstance(one, KernelStep) and wanted & _axes(low, one)]

    steps = canonical(low.along)
    at = [
        (one, [canonical(dim) for dim in one.form.dims] if isinstance(one, KernelStep) else []) for one in queries
    ]
    queries = [low.at_step(one, own.index(steps), one.name) if steps in own else one for one, own in at]
    values = along(update, width)
    keys = [one for one in update if one not in values]
    if along(decays, depth, width) or along(queries, width) or along(values, depth):
        raise Unmatched("has a state whose numbers decay or grow each by its own number")
    if not (along(queries, depth) and along(keys, depth) and values):
        raise Unmatched("adds or sums up something that is the same for a whole dimension of a state")
    return Recurrence(
        state=state,
        made=made,
        start=low.starts[before],
        mixed=sums[0],
        decays=tuple(decays),
        queries=tuple(queries),
        keys=tuple(keys),
        values=tuple(values),
        rows=tuple(dims[:-2]),
        depth=depth,
        width=width,
        is_turned=summed == dims[-1:],
    )


def _all_steps(low: LoopLowering) -> Iterator[KernelStep]:
    waiting = [one for value in low.values.values() for one in (value if isinstance(value, tuple) else (value,))]
    seen: set[KernelStep] = set()
    while waiting:
        step = waiting.pop()
        if step not in seen:
            seen.add(step)
            yield step
            waiting += [one for one in step.operands if isinstance(one, KernelStep)]


def _factors(low: LoopLowering, step: Any) -> list[Any]:
    """What is multiplied, before it is moved to its place."""
    if not isinstance(step, KernelStep):
        return [step]
    if step.op == "mul" and not step.options:
        return [one for operand in step.operands for one in _factors(low, operand)]
    if step.op not in (VIEW, MOVE) or (source := step.operands[0]).op not in ("mul", "add", GIVEN, VIEW, MOVE):
        return [step]
    if "steps_along" in step.options:  # of all steps
        return _factors(low, source)
    if _axes(low, step) == _axes(low, source) and step.options.get("guard") is None and _keeps_places(step):
        return _factors(low, source)
    if step.op == MOVE and source.op == "mul" and not source.options and step.options["guard"] is None:
        return [one for operand in source.operands for one in _factors(low, _moved(low, step, operand))]
    return [step]


def _axes(low: LoopLowering, step: KernelStep) -> set[Axis]:
    return {axis for dim in step.form.dims for axis in low.symbols.canonical(dim)}


def _keeps_places(step: KernelStep) -> bool:
    maps = step.options.get("maps", ())
    return not any(one.taken or one.offset or one.form or one.scale != 1 for one in maps)


def _moved(low: LoopLowering, move: KernelStep, factor: Any) -> Any:
    """The same move of one factor of what is moved, which need not have all of its dimensions."""
    if not isinstance(factor, KernelStep):
        return factor
    maps = move.options["maps"][len(move.options["maps"]) - factor.form.rank :]
    used = {one.dim for one, dim in zip(maps, factor.form.dims, strict=True) if dim}
    shape = tuple(size if i in used else 1 for i, size in enumerate(move.form.shape))
    dims = tuple(dim if i in used else () for i, dim in enumerate(move.form.dims))
    return make_move(low, factor, SymbolicShape(shape, dims), maps, f"{factor.name}_now")
