"""Elements at places that another tensor holds: the place is loaded first, then the element.

Where PyTorch counts places below zero from the end, so do kernels. A place outside of the tensor stops PyTorch with
an assertion on the device; a kernel reads nothing there, and what it computes from that element is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilesmith.playbook.graph.choices import make_index, shaped
from tilesmith.playbook.graph.composites import find_place
from tilesmith.playbook.graph.moves import each_repeated, make_move
from tilesmith.playbook.graph.reductions import Lower, find_argument, make_reduction
from tilesmith.playbook.graph.steps import INDEX, PRODUCT, DimMap, KernelStep
from tilesmith.playbook.graph.symbols import Dim, SizeRule, SymbolicShape
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Node
from tilesmith.tasks.numbers.varying import is_varying, same

if TYPE_CHECKING:
    from tilesmith.playbook.graph.lowering import Lowering

_FROM_THE_END = "tl.where({0} < 0, {0} + {1}, {0})"


def _inside(low: Lowering, places: KernelStep, symbol: Dim, wraps: bool) -> KernelStep:
    """Whether a place is one of the dimension."""
    bounds = {"least": ((-1, symbol),) if wraps else (), "most": ((1, symbol),)}
    return KernelStep(low.free_name("is_inside"), INDEX, (places,), places.form, "bool", bounds)


def _taken(
    low: Lowering, source: KernelStep, places: dict[int, KernelStep], position: int, node: Node, wraps: bool
) -> KernelStep:
    """`source` with `places` for the indices along some dimensions; in the result theirs stand at `position`."""
    for one in places.values():
        if one.dtype not in ("int64", "int32"):
            raise Unmatched(f"takes elements by {one.dtype}")
    joined = low.symbols.broadcast([one.form for one in places.values()])
    for dim, held in places.items():
        if len(places) == 1 and position == dim and (found := _counted(low, source, dim, held, node.name)):
            return found
    count, rest = joined.rank, [one for one in range(source.form.rank) if one not in places]
    kept = [source.form.shape[one] for one in rest], [source.form.dims[one] for one in rest]
    form = SymbolicShape(
        (*kept[0][:position], *joined.shape, *kept[0][position:]),
        (*kept[1][:position], *joined.dims, *kept[1][position:]),
    )
    behind = (1,) * len(kept[0][position:])
    aligned = {dim: shaped(low, one, (*one.form.shape, *behind)) for dim, one in places.items()}
    where = {one: i + (count if i >= position else 0) for i, one in enumerate(rest)}
    maps = [DimMap(where[one]) if one not in places else None for one in range(source.form.rank)]
    return _moved(low, source, form, maps, aligned, node, wraps)


def _moved(
    low: Lowering,
    source: KernelStep,
    form: SymbolicShape,
    maps: Sequence[DimMap | None],
    places: dict[int, KernelStep],
    node: Node,
    wraps: bool,
) -> KernelStep:
    guard: KernelStep | None = None
    for dim, held in places.items():
        if source.form.dims[dim]:
            inside = _inside(low, held, source.form.dims[dim], wraps)
            guard = inside if guard is None else low.pointwise("logical_and", (guard, inside), "is_inside", "bool")
    taken = {dim: DimMap(taken=held, form=_FROM_THE_END if wraps else "") for dim, held in places.items()}
    return make_move(low, source, form, [one or taken[dim] for dim, one in enumerate(maps)], node.name, guard)


def _counted(low: Lowering, source: KernelStep, dim: int, places: KernelStep, name: str) -> KernelStep | None:
    """Where the places count along a dimension in groups (`arange(n) // 32`): elements one after the other, each as
    often as its group is large."""
    found = find_place(low, places)
    if found is None or places.form.rank != 1 or not same(found.size, source.form.shape[dim] * found.by):
        return None
    return each_repeated(low, source, dim, found.by, name) if found.by > 1 else source


def _embedding(low: Lowering, node: Node) -> KernelStep:
    """(weight, places)"""
    weight, places = low.operand(node.args[0]), low.operand(node.args[1])
    return _taken(low, weight, {0: places}, 0, node, wraps=False)


def _index(low: Lowering, node: Node) -> KernelStep:
    """(x, a list with one tensor of places among the dimensions that stay)"""
    source = low.operand(node.args[0])
    held = {dim: low.operand(one) for dim, one in enumerate(node.args[1]) if one is not None}
    if max(held) - min(held) >= len(held):
        raise Unmatched("takes elements by tensors of places for dimensions that are no neighbors")
    return _taken(low, source, held, min(held), node, wraps=True)


def _index_select(low: Lowering, node: Node) -> KernelStep:
    """(x, dim, places)"""
    source, places = low.operand(node.args[0]), low.operand(node.args[2])
    dim = node.args[1] % source.form.rank
    return _taken(low, source, {dim: places}, dim, node, wraps=False)


def _gather(low: Lowering, node: Node) -> KernelStep:
    """(x, dim, places), all of one rank."""
    source, places = low.operand(node.args[0]), low.operand(node.args[2])
    dim = node.args[1] % source.form.rank
    others = [one for one in range(source.form.rank) if one != dim]
    if not all(same(source.form.shape[one], places.form.shape[one]) for one in others):
        return _from_a_part(low, source, dim, places, node)
    if dim == source.form.rank - 1 and places.form.shape[dim] == 1 and _is_multiplied(source):
        return _picked(low, source, dim, places, node)
    return _along(low, source, dim, places, node)


def _from_a_part(low: Lowering, source: KernelStep, dim: int, places: KernelStep, node: Node) -> KernelStep:
    """As many rows as there are places for."""
    if places.dtype != "int64":
        raise Unmatched(f"takes elements by {places.dtype}")
    for one, symbol in enumerate(source.form.dims):
        if one != dim and symbol:
            low.symbols.least(symbol, ((1, places.form.dims[one]),))
    maps = [DimMap(one) if one != dim else None for one in range(source.form.rank)]
    return _moved(low, source, places.form, maps, {dim: places}, node, wraps=False)


def _is_multiplied(step: KernelStep) -> bool:
    """Whether it is computed from a product, whose elements are not in memory."""
    operands = (one for one in step.operands if isinstance(one, KernelStep))
    return step.op == PRODUCT or any(map(_is_multiplied, operands))


def _picked(low: Lowering, source: KernelStep, dim: int, places: KernelStep, node: Node) -> KernelStep:
    """One element of every row: the sum of it and of zeros."""
    place = make_index(low, source.form, dim, f"{node.name}_place")
    is_it = low.pointwise("eq", (place, places), f"is_{node.name}", "bool")
    kept = low.pointwise("where", (is_it, source, 0.0), f"{node.name}_or_zero", source.dtype)
    return make_reduction(low, "sum", kept, (dim,), name=node.name, dtype=source.dtype)


def _take_along(low: Lowering, node: Node) -> KernelStep:
    """(x, places, dim); the other dimensions are broadcast."""
    source, places, dim = low.operand(node.args[0]), low.operand(node.args[1]), find_argument(node, 2, "dim")
    if dim is None:
        raise Unmatched("takes elements of a flattened tensor")
    return _along(low, source, dim % source.form.rank, places, node)


def _along(low: Lowering, source: KernelStep, dim: int, places: KernelStep, node: Node) -> KernelStep:
    if places.dtype != "int64":
        raise Unmatched(f"takes elements by {places.dtype}")
    without = SymbolicShape(
        (*source.form.shape[:dim], 1, *source.form.shape[dim + 1 :]),
        (*source.form.dims[:dim], (), *source.form.dims[dim + 1 :]),
    )
    form = low.symbols.broadcast([places.form, without])
    maps = [DimMap(one) if one != dim else None for one in range(source.form.rank)]
    return _moved(low, source, form, maps, {dim: places}, node, wraps=False)


def _windows(low: Lowering, count: int, reach: int, every: int, symbol: Dim, name: str) -> Dim:
    """How many windows there are that reach so far and begin so far apart."""
    rule = SizeRule(f"({{0}} - {reach}) // {every} + 1", symbol, may_round=True)
    varies = is_varying(reach) or is_varying(every) or not symbol
    return low.symbols.make((name, 0), count, None if varies else rule)


def _constant(low: Lowering, size: int, name: str) -> Dim:
    return low.symbols.make((name, 0), size, None if is_varying(size) else SizeRule(None, is_constant=True))


def _unfold(low: Lowering, node: Node) -> KernelStep:
    """(x, dim, size, step): windows along a dimension, whose places are the last one of the result."""
    source, (dim, size, every) = low.operand(node.args[0]), node.args[1:4]
    dim, rank, shape = dim % source.form.rank, source.form.rank, node.shape or ()
    count = _windows(low, shape[dim], size, every, source.form.dims[dim], f"{node.name}_count")
    dims = (*source.form.dims[:dim], count, *source.form.dims[dim + 1 :], _constant(low, size, node.name))
    form = SymbolicShape(shape, dims)
    if is_varying(every):
        low.symbols.pin_everything()
    first, within = make_index(low, form, dim, "first", scale=every), make_index(low, form, rank, "within")
    taken = DimMap(taken=low.pointwise("add", (first, within), f"{node.name}_place", "int32"))
    maps = [DimMap(one) if one != dim else taken for one in range(rank)]
    return make_move(low, source, form, maps, node.name)


def _im2col(low: Lowering, node: Node) -> KernelStep:
    """(x, window, dilation, padding, stride): a column for every window, its places in every channel."""
    source, name = low.operand(node.args[0]), node.name
    how = [*zip(*node.args[1:5], strict=True)]
    if source.form.rank != 4 or any(map(is_varying, (one for side in how for one in side))):
        raise Unmatched("takes windows of one image, or of sizes that vary")
    windows, counts = list[tuple[int, Dim]](), list[tuple[int, Dim]]()
    for side, (window, apart, pad, every) in enumerate(how, 2):
        windows.append((window, _constant(low, window, f"{name}_window_{side}")))
        reach = apart * (window - 1) + 1 - 2 * pad
        count = (source.form.shape[side] - reach) // every + 1
        counts.append((count, _windows(low, count, reach, every, source.form.dims[side], f"{name}_count_{side}")))
    sizes, dims = zip(*windows, *counts, strict=True)
    form = SymbolicShape((*source.form.shape[:2], *sizes), (*source.form.dims[:2], *dims))
    guard: KernelStep | None = None
    maps = [DimMap(0), DimMap(1)]
    for side, (_, apart, pad, every) in enumerate(how, 2):
        within = make_index(low, form, side, "within", scale=apart, offset=((-pad, ()),) if pad else ())
        first = make_index(low, form, side + 2, "first", scale=every)
        place = low.pointwise("add", (first, within), f"{name}_place", "int32")
        maps.append(DimMap(taken=place))
        if pad:
            inside = _inside(low, place, source.form.dims[side], wraps=False)
            guard = inside if guard is None else low.pointwise("logical_and", (guard, inside), "is_inside", "bool")
    moved = make_move(low, source, form, maps, name, guard)
    if guard is not None:
        moved = low.pointwise("where", (guard, moved, 0), f"{name}_padded", source.dtype)
    return shaped(low, moved, node.shape or ())


GATHERS: dict[str, Lower] = {
    "unfold": _unfold,
    "im2col": _im2col,
    "embedding": _embedding,
    "index": _index,
    "index_select": _index_select,
    "gather": _gather,
    "take_along_dim": _take_along,
}
