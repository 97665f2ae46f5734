"""Operators that move elements, as index arithmetic on their operand: nothing is copied."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilesmith.playbook.graph.reductions import Lower, find_argument
from tilesmith.playbook.graph.steps import MOVE, VIEW, DimMap, KernelStep
from tilesmith.playbook.graph.symbols import Dim, SizeRule, SymbolicShape
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Node
from tilesmith.tasks.numbers.varying import always, is_varying, same

if TYPE_CHECKING:
    from tilesmith.playbook.graph.lowering import Lowering

AROUND = "{0} % {1}"
"""A place beyond the end is counted from the start again."""
_SURELY_A_NUMBER = 8
"""A place below this that stands in the code is not computed from a size."""


def make_move(
    low: Lowering,
    source: KernelStep,
    form: SymbolicShape,
    maps: Sequence[DimMap],
    name: str,
    guard: KernelStep | None = None,
) -> KernelStep:
    """The elements of `source` at the places that `maps` give; where `guard` is false, none."""
    options = {"maps": tuple(maps), "guard": guard}
    needed = (source, *([guard] if guard else []), *(one.taken for one in maps if one.taken))
    return KernelStep(low.free_name(name), MOVE, needed, form, source.dtype, options)


def same_places(step: KernelStep) -> list[DimMap]:
    return [DimMap(dim) for dim in range(step.form.rank)]


def with_dim(form: SymbolicShape, dim: int, size: int, symbol: Dim) -> SymbolicShape:
    """The form with one dimension of another size."""
    return SymbolicShape(
        (*form.shape[:dim], size, *form.shape[dim + 1 :]), (*form.dims[:dim], symbol, *form.dims[dim + 1 :])
    )


def _without(form: SymbolicShape, dim: int) -> SymbolicShape:
    return SymbolicShape((*form.shape[:dim], *form.shape[dim + 1 :]), (*form.dims[:dim], *form.dims[dim + 1 :]))


def permuted(low: Lowering, step: KernelStep, order: Sequence[int], name: str) -> KernelStep:
    form = SymbolicShape(tuple(step.form.shape[i] for i in order), tuple(step.form.dims[i] for i in order))
    moved = make_move(low, step, form, [DimMap(order.index(dim)) for dim in range(step.form.rank)], name)
    return replace(moved, options=moved.options | {"order": list(order)})


def _permute(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    return permuted(low, step, [dim % step.form.rank for dim in node.args[1]], node.name)


def _transpose(low: Lowering, node: Node) -> KernelStep:
    """transpose, swapaxes (x, a, b); t, mT and numpy_T know their dimensions."""
    step = low.operand(node.args[0])
    order = list(range(step.form.rank))
    if len(order) > 1:
        a, b = node.args[1:3] if len(node.args) > 2 else (-2, -1)
        order[a], order[b] = order[b], order[a]
    return permuted(low, step, order, node.name)


def _reverse_all(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    return permuted(low, step, list(range(step.form.rank))[::-1], node.name)


def _movedim(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    rank = step.form.rank
    sources, targets = ([one % rank for one in _as_list(given)] for given in node.args[1:3])
    left = [dim for dim in range(rank) if dim not in sources]
    placed = dict(zip(targets, sources, strict=True))
    order = [placed[position] if position in placed else left.pop(0) for position in range(rank)]
    return permuted(low, step, order, node.name)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _slice(low: Lowering, node: Node) -> KernelStep:
    """(x, dim, start, end, step)"""
    step = low.operand(node.args[0])
    dim = find_argument(node, 1, "dim", 0) % step.form.rank
    start, end = find_argument(node, 2, "start"), find_argument(node, 3, "end")
    every = find_argument(node, 4, "step", 1)
    return _sliced(low, step, dim, start or 0, end, every, node.name)


def _sliced(
    low: Lowering, step: KernelStep, dim: int, start: int, end: int | None, every: int, name: str
) -> KernelStep:
    whole, symbol = step.form.shape[dim], step.form.dims[dim]
    is_open = end is None or always(operator.ge, end, whole)
    first = max(start + whole, 0) if start < 0 else min(start, whole)
    last = whole if is_open else end + whole if end is not None and end < 0 else end or 0
    size = (last - first + every - 1) // every
    if size <= 0:
        raise Unmatched("works on an empty tensor (a slice)")
    if same(first, 0) and same(size, whole):
        return step
    varies = is_varying(start) or (is_varying(end) and not is_open)
    if varies:
        made, offset = low.symbols.make((name, dim), size), low.symbols.amount(first)
        if not is_open:
            low.symbols.least(symbol, low.symbols.amount(last))
    else:
        made = _slice_symbol(low, step, dim, (start, end, every), size, name)
        offset = ((1, symbol), (start, ())) if start < 0 and first else low.symbols.amount(first)
    maps = same_places(step)
    maps[dim] = replace(maps[dim], scale=every, offset=offset)
    return make_move(low, step, with_dim(step.form, dim, size, made), maps, name)


def _slice_symbol(
    low: Lowering, step: KernelStep, dim: int, asked: tuple[int, int | None, int], size: int, name: str
) -> Dim:
    """How long a slice is, and whether that is known for other sizes of the operand."""
    start, end, every = asked
    whole, symbol = step.form.shape[dim], step.form.dims[dim]
    from_the_end = end is None or end >= whole or end < 0
    surely = _SURELY_A_NUMBER if not is_varying(whole) else whole  # what stays while the size varies
    if 0 <= start < surely and from_the_end:
        less = start - (end if end is not None and end < 0 else 0)
        rest = f"{{0}} - {less}" if less else "{0}"
        rule = SizeRule(rest if every == 1 else f"({rest} + {every - 1}) // {every}", symbol)
        return low.symbols.make((name, dim), size, rule)
    if (start < 0 and from_the_end) or 0 <= start < (end or 0) < surely:
        if not from_the_end:
            low.symbols.least(symbol, ((end or 0, ()),))
        return low.symbols.make((name, dim), size, SizeRule(None, is_constant=True))
    if start:
        low.symbols.pin(symbol)
    return low.symbols.make((name, dim), size, SizeRule(None, symbol))


def _narrow(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    dim, start, length = node.args[1] % step.form.rank, node.args[2], node.args[3]
    return _sliced(low, step, dim, start, start + length, 1, node.name)


def _select(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    return _selected(low, step, node.args[1] % step.form.rank, node.args[2], node.name)


def _selected(low: Lowering, step: KernelStep, dim: int, place: int, name: str) -> KernelStep:
    symbol = step.form.dims[dim]
    if place >= _SURELY_A_NUMBER and not is_varying(step.form.shape[dim]):
        low.symbols.pin(symbol)
    offset = ((1, symbol), *low.symbols.amount(place)) if place < 0 else low.symbols.amount(place)
    if place >= _SURELY_A_NUMBER:
        low.symbols.least(symbol, (*low.symbols.amount(place), (1, ())))
    maps = [DimMap(one - (one > dim)) for one in range(step.form.rank)]
    maps[dim] = DimMap(None, offset=offset if symbol else ())
    return make_move(low, step, _without(step.form, dim), maps, name)


def _unbind(low: Lowering, node: Node) -> tuple[KernelStep, ...]:
    step = low.operand(node.args[0])
    dim = find_argument(node, 1, "dim", 0) % step.form.rank
    low.symbols.pin(step.form.dims[dim])
    return tuple(_selected(low, step, dim, i, f"{node.name}_{i}") for i in range(step.form.shape[dim]))


def _chunk(low: Lowering, node: Node) -> tuple[KernelStep, ...]:
    """Equal parts, of any size; the last one is smaller where that was so in any trace."""
    step, count = low.operand(node.args[0]), node.args[1]
    dim = find_argument(node, 2, "dim", 0) % step.form.rank
    whole, symbol = step.form.shape[dim], step.form.dims[dim]
    if not same(whole % count, 0):
        most = -(-whole // count)
        return _parts(low, step, dim, [most] * (-(-whole // most) - 1), node.name)
    size = whole // count
    part = low.symbols.make((node.name, dim), size, SizeRule(f"{{0}} // {count}", symbol))
    form = with_dim(step.form, dim, size, part)
    found: list[KernelStep] = []
    for i in range(count):
        maps = same_places(step)
        maps[dim] = DimMap(dim, offset=((i, part),) if i else ())
        found.append(make_move(low, step, form, maps, f"{node.name}_{i}"))
    return tuple(found)


def _split(low: Lowering, node: Node) -> tuple[KernelStep, ...]:
    step, asked = low.operand(node.args[0]), node.args[1]
    dim = find_argument(node, 2, "dim", 0) % step.form.rank
    whole = step.form.shape[dim]
    return _parts(low, step, dim, asked if isinstance(asked, list) else [asked] * (whole // asked), node.name)


def _parts(low: Lowering, step: KernelStep, dim: int, sizes: Sequence[int], name: str) -> tuple[KernelStep, ...]:
    """Slices of these sizes, and one of what is left."""
    whole = step.form.shape[dim]
    sizes = [*sizes, *([whole - sum(sizes)] if sum(sizes) < whole else [])]
    if not is_varying(whole) or not same(sum(sizes), whole):
        low.symbols.pin(step.form.dims[dim])
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    pairs = enumerate(zip(starts, sizes, strict=True))
    return tuple(_sliced(low, step, dim, start, start + size, 1, f"{name}_{i}") for i, (start, size) in pairs)


def _expand(low: Lowering, node: Node) -> KernelStep:
    return expanded(low, low.operand(node.args[0]), node.shape or (), node.name)


def expanded(low: Lowering, step: KernelStep, shape: Sequence[int], name: str) -> KernelStep:
    """Dimensions of size one, and new ones in front, repeated."""
    missing = len(shape) - step.form.rank
    own = ((),) * missing + step.form.dims
    dims = [dim or low.symbols.make((name, i), shape[i]) for i, dim in enumerate(own)]
    if tuple(shape) == step.form.shape:
        return step
    maps = [DimMap(missing + dim) for dim in range(step.form.rank)]
    return make_move(low, step, SymbolicShape(tuple(shape), tuple(dims)), maps, name)


def _diagonal(low: Lowering, node: Node) -> KernelStep:
    """(x, offset, dim1, dim2): the last dimension of the result."""
    step = low.operand(node.args[0])
    offset = find_argument(node, 1, "offset", 0)
    first, second = (find_argument(node, i, f"dim{i - 1}", i - 2) % step.form.rank for i in (2, 3))
    kept = [dim for dim in range(step.form.rank) if dim not in (first, second)]
    shape = node.shape or ()
    for dim in (first, second):
        low.symbols.pin(step.form.dims[dim])
    symbol = low.symbols.make((node.name, 0), shape[-1], SizeRule(None, is_constant=True))
    form = SymbolicShape(shape, (*(step.form.dims[dim] for dim in kept), symbol))
    maps = [DimMap(kept.index(dim)) if dim in kept else DimMap(len(kept)) for dim in range(step.form.rank)]
    moved = first if offset < 0 else second
    maps[moved] = replace(maps[moved], offset=((abs(offset), ()),) if offset else ())
    return make_move(low, step, form, maps, node.name)


def _flip(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    maps = same_places(step)
    for dim in (one % step.form.rank for one in node.args[1]):
        if step.form.dims[dim]:
            maps[dim] = DimMap(dim, scale=-1, offset=((1, step.form.dims[dim]), (-1, ())))
    return make_move(low, step, step.form, maps, node.name)


def _roll(low: Lowering, node: Node) -> KernelStep:
    step, shifts = low.operand(node.args[0]), _as_list(node.args[1])
    dims = _as_list(find_argument(node, 2, "dims", []))
    if not dims:
        raise Unmatched("rolls a tensor as a whole")
    maps = same_places(step)
    for dim, shift in zip((one % step.form.rank for one in dims), shifts, strict=True):
        symbol = step.form.dims[dim]
        if abs(shift) >= _SURELY_A_NUMBER and not is_varying(step.form.shape[dim]):
            low.symbols.pin(symbol)
        if symbol and shift % step.form.shape[dim]:
            if abs(shift) >= step.form.shape[dim]:
                raise Unmatched("rolls a dimension more than once around")
            if not always(lambda by, size: 0 < by < size or -size < by < 0, shift, step.form.shape[dim]):
                low.symbols.pin_everything()
            back = tuple((-count, by) for count, by in low.symbols.amount(shift))
            offset = ((1, symbol), *back) if shift > 0 else back
            maps[dim] = DimMap(dim, offset=offset, form=AROUND)
    return make_move(low, step, step.form, maps, node.name)


def _repeat(low: Lowering, node: Node) -> KernelStep:
    step, counts = low.operand(node.args[0]), list(node.args[1])
    shape, missing = node.shape or (), len(counts) - step.form.rank
    dims: list[Dim] = []
    maps: list[DimMap] = []
    for i, count in enumerate(counts):
        symbol = step.form.dims[i - missing] if i >= missing else ()
        rule = SizeRule(f"{count} * {{0}}", symbol) if symbol and not is_varying(count) else None
        dims.append(symbol if same(count, 1) else low.symbols.make((node.name, i), shape[i], rule))
        if i >= missing:
            maps.append(DimMap(i, form="" if same(count, 1) else AROUND))
    return make_move(low, step, SymbolicShape(shape, tuple(dims)), maps, node.name)


def _repeat_interleave(low: Lowering, node: Node) -> KernelStep:
    """(x, count, dim)"""
    step, count = low.operand(node.args[0]), node.args[1]
    if not isinstance(count, int) or len(node.args) < 3 or node.args[2] is None:
        raise Unmatched("repeats elements a different number of times")
    dim = node.args[2] % step.form.rank
    symbol, size = step.form.dims[dim], step.form.shape[dim] * count
    if is_varying(count):
        return each_repeated(low, step, dim, count, node.name)
    rule = SizeRule(f"{count} * {{0}}", symbol) if symbol else SizeRule(None, is_constant=True)
    maps = same_places(step)
    maps[dim] = DimMap(dim, form=f"{{0}} // {count}")
    form = with_dim(step.form, dim, size, low.symbols.make((node.name, dim), size, rule))
    return make_move(low, step, form, maps, node.name)


def each_repeated(low: Lowering, step: KernelStep, dim: int, count: int, name: str) -> KernelStep:
    """Elements along a dimension, each so many times in a row: a new dimension behind it, and both as one."""
    shape, dims = step.form.shape, step.form.dims
    made = low.symbols.make((name, dim), count, None if is_varying(count) else SizeRule(None, is_constant=True))
    form = SymbolicShape((*shape[: dim + 1], count, *shape[dim + 1 :]), (*dims[: dim + 1], made, *dims[dim + 1 :]))
    spread = make_move(low, step, form, [DimMap(i + (i > dim)) for i in range(len(shape))], f"{name}_spread")
    whole = (*shape[:dim], shape[dim] * count, *shape[dim + 1 :])
    return KernelStep(low.free_name(name), VIEW, (spread,), low.symbols.view(form, whole), step.dtype)


MOVES: dict[str, Lower] = {
    "transpose": _transpose,
    "swapaxes": _transpose,
    "swapdims": _transpose,
    "t": _transpose,
    "mT": _transpose,
    "adjoint": _transpose,
    "numpy_T": _reverse_all,
    "permute": _permute,
    "movedim": _movedim,
    "slice": _slice,
    "narrow": _narrow,
    "select": _select,
    "unbind": _unbind,
    "chunk": _chunk,
    "split": _split,
    "split_with_sizes": _split,
    "expand": _expand,
    "expand_as": _expand,
    "broadcast_to": _expand,
    "diagonal": _diagonal,
    "flip": _flip,
    "roll": _roll,
    "repeat": _repeat,
    "repeat_interleave": _repeat_interleave,
}
