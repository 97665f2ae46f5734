"""Tensors put together and tensors made of nothing, as choices by the place of an element: no memory is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilesmith.playbook.graph.moves import AROUND, make_move, same_places, with_dim
from tilesmith.playbook.graph.reductions import Lower, find_argument
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import CAST, CONSTANT, INDEX, VIEW, DimMap, KernelStep
from tilesmith.playbook.graph.symbols import Dim, SizeRule, SymbolicShape
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Node
from tilesmith.tasks.numbers.varying import is_varying, same

if TYPE_CHECKING:
    from tilesmith.playbook.graph.lowering import Lowering

Offset = tuple[tuple[int, Dim], ...]
_FOLDS = {
    "circular": AROUND,
    "replicate": "tl.minimum(tl.maximum({0}, 0), {1} - 1)",
    "reflect": "{1} - 1 - tl.abs({1} - 1 - tl.abs({0}))",
}
"""Where a padded tensor takes the elements that it does not have."""
_MOST_PIECES = 8


def make_index(low: Lowering, form: SymbolicShape, dim: int, name: str, **how: Any) -> KernelStep:
    """The place along a dimension; with `least` or `most`, whether it lies within."""
    shape, dims = [1] * form.rank, [()] * form.rank  # type: tuple[list[int], list[Dim]]
    shape[dim], dims[dim] = form.shape[dim], form.dims[dim]
    dtype = "bool" if "least" in how or "most" in how else "int32"
    own = SymbolicShape(tuple(shape), tuple(dims))
    return KernelStep(low.free_name(name), INDEX, (), own, dtype, {"dim": dim} | how)


def shaped(low: Lowering, step: KernelStep, shape: Sequence[int]) -> KernelStep:
    if tuple(shape) == step.form.shape:
        return step
    return KernelStep(low.free_name(step.name), VIEW, (step,), low.symbols.view(step.form, shape), step.dtype)


def _cat(low: Lowering, node: Node) -> KernelStep:
    pieces: list[KernelStep] = [low.operand(one) for one in node.args[0]]
    return _joined(low, pieces, find_argument(node, 1, "dim", 0) % pieces[0].form.rank, node)


def _stack(low: Lowering, node: Node) -> KernelStep:
    pieces: list[KernelStep] = [low.operand(one) for one in node.args[0]]
    dim = find_argument(node, 1, "dim", 0) % (pieces[0].form.rank + 1)
    flat = [shaped(low, one, (*one.form.shape[:dim], 1, *one.form.shape[dim:])) for one in pieces]
    return _joined(low, flat, dim, node)


def _joined(low: Lowering, pieces: list[KernelStep], dim: int, node: Node) -> KernelStep:
    """Every piece where it lies; the place along the dimension says which."""
    if len(pieces) > _MOST_PIECES:
        raise Unmatched(f"joins {len(pieces)} tensors, which reads each place {len(pieces)} times")
    symbols = [one.form.dims[dim] for one in pieces]
    size = sum(one.form.shape[dim] for one in pieces)
    form = low.symbols.broadcast([with_dim(one.form, dim, 1, ()) for one in pieces])
    form = with_dim(form, dim, size, low.symbols.make((node.name, dim), size, _sum_rule(symbols)))
    ends: list[Offset] = [tuple((1, symbol) for symbol in symbols[: i + 1]) for i in range(len(symbols))]
    starts: list[Offset] = [(), *ends[:-1]]
    moved: list[KernelStep] = []
    guards: list[KernelStep] = []
    for i, piece in enumerate(pieces):
        bounds = ({"least": starts[i]} if i else {}) | ({"most": ends[i]} if i < len(pieces) - 1 else {})
        guards.append(make_index(low, form, dim, f"in_{node.name}_{i}", **bounds))
        maps = same_places(piece)
        maps[dim] = DimMap(dim, offset=tuple((-count, symbol) for count, symbol in starts[i]))
        moved.append(make_move(low, piece, form, maps, f"{node.name}_{i}", guards[-1] if bounds else None))
    result = moved.pop()
    for piece, guard in zip(reversed(moved), reversed(guards[:-1]), strict=True):
        result = low.pointwise("where", (guard, piece, result), node.name, str(node.dtype))
    return result


def _sum_rule(symbols: Sequence[Dim]) -> SizeRule:
    if not any(symbols):
        return SizeRule(None, is_constant=True)  # as many as there are pieces
    if all(symbol == symbols[0] for symbol in symbols):
        return SizeRule(f"{len(symbols)} * {{0}}", symbols[0])
    named = [symbol for symbol in symbols if symbol]
    terms = [f"{{{i}}}" for i in range(len(named))] + ["1"] * (len(symbols) - len(named))
    return SizeRule(" + ".join(terms), named[0], tuple(named[1:]))


def _pad(low: Lowering, node: Node) -> KernelStep:
    """(x, amounts from the last dimension on, mode, value)"""
    step, amounts = low.operand(node.args[0]), list(node.args[1])
    mode = find_argument(node, 2, "mode", "constant")
    value = low.operand(find_argument(node, 3, "value"))
    if "constant_pad" in node.op:
        mode, value = "constant", low.operand(find_argument(node, 2, "value"))
    if min(amounts) < 0 or (mode != "constant" and mode not in _FOLDS):
        raise Unmatched(f"pads a tensor by {amounts} ({mode})")
    form, maps, guard = step.form, same_places(step), None
    for place, left in enumerate(amounts[::2]):
        right, dim = amounts[2 * place + 1], step.form.rank - 1 - place
        if same(left, 0) and same(right, 0):
            continue
        symbol, size = step.form.dims[dim], step.form.shape[dim] + left + right
        fixed = SizeRule(f"{{0}} + {left + right}", symbol) if symbol else SizeRule(None, is_constant=True)
        rule = None if is_varying(left + right) else fixed
        before = low.symbols.amount(left)
        form = with_dim(form, dim, size, low.symbols.make((node.name, dim), size, rule))
        around: Offset = ((1, symbol),) if mode == "circular" else ()
        back = tuple((-count, by) for count, by in before)
        maps[dim] = DimMap(dim, offset=(*back, *around), form=_FOLDS.get(mode, ""))
        if mode == "constant":
            bounds = ({"least": before} if before else {}) | (
                {} if same(right, 0) else {"most": (*before, (1, symbol))}
            )
            inside = make_index(low, form, dim, "inside", **bounds)
            guard = inside if guard is None else low.pointwise("logical_and", (guard, inside), "inside", "bool")
    moved = make_move(low, step, form, maps, node.name, guard)
    if guard is None:
        return moved
    return low.pointwise("where", (guard, moved, value or 0), node.name, step.dtype)


def _triangle(comparison: str) -> Lower:
    """tril and triu: (x, diagonal)."""

    def lower(low: Lowering, node: Node) -> KernelStep:
        step, diagonal = low.operand(node.args[0]), find_argument(node, 1, "diagonal", 0)
        offset = low.symbols.amount(diagonal) or ((0, ()),)
        row = make_index(low, step.form, step.form.rank - 2, "row_place", offset=offset)
        column = make_index(low, step.form, step.form.rank - 1, "column_place")
        kept = low.pointwise(comparison, (column, row), "kept", "bool")
        if step.dtype == "bool":
            return low.pointwise("logical_and", (kept, step), node.name, "bool")
        return low.pointwise("where", (kept, step, 0), node.name, step.dtype)

    return lower


def _made_form(low: Lowering, node: Node) -> SymbolicShape:
    """Of a tensor whose sizes stand in the code: whoever uses it says where they come from."""
    shape = node.shape or ()
    return SymbolicShape(shape, tuple(low.symbols.make((node.name, i), size) for i, size in enumerate(shape)))


def _constant(value: Any = None) -> Lower:
    """zeros, ones and full, and those like another tensor or of its type."""

    def lower(low: Lowering, node: Node) -> KernelStep:
        given = value if value is not None else low.operand(find_argument(node, 1, "fill_value"))
        if "new_full" in node.op:
            given = low.operand(node.args[2])
        if isinstance(given, KernelStep):
            raise Unmatched("fills a tensor with an element of another")
        form = low.operand(node.args[0]).form if "_like" in node.op else _made_form(low, node)
        dtype = str(node.dtype)
        number = bool(given) if dtype == "bool" else float(given) if "float" in dtype else int(given)
        if isinstance(given, NamedNumber):
            number = given
        return KernelStep(low.free_name(node.name), CONSTANT, (), form, dtype, {"value": number})

    return lower


def _arange(low: Lowering, node: Node) -> KernelStep:
    """(end), (start, end) or (start, end, step)"""
    start = node.args[0] if len(node.args) > 1 else 0
    step = node.args[2] if len(node.args) > 2 else 1
    if not isinstance(start, int) or not isinstance(step, int):
        raise Unmatched("counts in steps that are no integers")
    if is_varying(step):
        low.symbols.pin_everything()
    offset = low.symbols.amount(start)
    form = _made_form(low, node)
    place = make_index(low, form, 0, node.name, scale=step, offset=offset)
    return low.pointwise(CAST, (place,), f"{node.name}_values", str(node.dtype))


def _eye(low: Lowering, node: Node) -> KernelStep:
    form = _made_form(low, node)
    same = low.pointwise(
        "eq", (make_index(low, form, 0, "row_place"), make_index(low, form, 1, "column_place")), "same", "bool"
    )
    return low.pointwise(CAST, (same,), node.name, str(node.dtype))


def _one_hot(low: Lowering, node: Node) -> KernelStep:
    """(classes, number)"""
    step, count = low.operand(node.args[0]), find_argument(node, 1, "num_classes", -1)
    if count < 0:
        raise Unmatched("counts classes by the largest")
    shape = (*step.form.shape, count)
    rule = None if is_varying(count) else SizeRule(None, is_constant=True)
    last = low.symbols.make((node.name, step.form.rank), count, rule)
    form = SymbolicShape(shape, (*step.form.dims, last))
    places = make_index(low, form, step.form.rank, "class_place")
    same = low.pointwise("eq", (shaped(low, step, (*step.form.shape, 1)), places), "same", "bool")
    return low.pointwise(CAST, (same,), node.name, str(node.dtype))


def _outer(low: Lowering, node: Node) -> KernelStep:
    first, second = (low.operand(one) for one in node.args)
    column = shaped(low, first, (first.form.shape[0], 1))
    return low.pointwise("mul", (column, second), node.name, str(node.dtype))


def _meshgrid(low: Lowering, node: Node) -> tuple[KernelStep, ...]:
    """(vectors), indexing: every vector along a dimension of its own."""
    pieces: list[KernelStep] = [low.operand(one) for one in node.args[0]]
    if any(one.form.rank != 1 for one in pieces):
        raise Unmatched("makes a grid of what are no vectors")
    order = list(range(len(pieces)))
    if node.kwargs.get("indexing") == "xy":
        order[:2] = order[1::-1]
    form = SymbolicShape(
        tuple(pieces[i].form.shape[0] for i in order), tuple(pieces[i].form.dims[0] for i in order)
    )
    named = enumerate(pieces)
    return tuple(make_move(low, one, form, [DimMap(order.index(i))], f"{node.name}_{i}") for i, one in named)


def _cross(low: Lowering, node: Node) -> KernelStep:
    """(a, b, dim) of three numbers each."""
    dim, dtype = find_argument(node, 2, "dim", -1), str(node.dtype)
    if dim is None:
        raise Unmatched("crosses vectors along a dimension that it looks for")
    a, b = (low.operand(one) for one in node.args[:2])

    def turned(step: KernelStep, by: int) -> KernelStep:
        maps = same_places(step)
        maps[dim] = replace(maps[dim], offset=((by, ()),), form=AROUND)
        return make_move(low, step, step.form, maps, f"{step.name}_{by}")

    first = low.pointwise("mul", (turned(a, 1), turned(b, 2)), f"{node.name}_first", dtype)
    second = low.pointwise("mul", (turned(a, 2), turned(b, 1)), f"{node.name}_second", dtype)
    return low.pointwise("sub", (first, second), node.name, dtype)


CHOICES: dict[str, Lower] = {
    "meshgrid": _meshgrid,
    "cross": _cross,
    "linalg_cross": _cross,
    "cat": _cat,
    "concat": _cat,
    "concatenate": _cat,
    "stack": _stack,
    "pad": _pad,
    "constant_pad_nd": _pad,
    "tril": _triangle("le"),
    "triu": _triangle("ge"),
    "zeros": _constant(0),
    "ones": _constant(1),
    "full": _constant(),
    "zeros_like": _constant(0),
    "ones_like": _constant(1),
    "full_like": _constant(),
    "new_zeros": _constant(0),
    "new_ones": _constant(1),
    "new_full": _constant(),
    "arange": _arange,
    "eye": _eye,
    "one_hot": _one_hot,
    "outer": _outer,
}
