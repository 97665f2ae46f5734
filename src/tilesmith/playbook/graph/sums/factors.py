"""Products of matrices among the steps: their operands are tensors, read in place, whatever their strides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from tilesmith.playbook.graph.moves import permuted, with_dim
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.graph.steps import INDEX, LEAF, MOVE, PRODUCT, VIEW, DimMap, KernelStep
from tilesmith.playbook.graph.symbols import SizeRule, SymbolicShape
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Node

if TYPE_CHECKING:
    from tilesmith.playbook.graph.lowering import Lowering

_ADDED = {"addmm", "baddbmm"}


@dataclass(frozen=True)
class Triangle:
    """Which numbers of a matrix are not zero: `column - row` is at least, or at most, the diagonal."""

    is_upper: bool
    diagonal: int

    @property
    def turned(self) -> Triangle:
        return Triangle(not self.is_upper, -self.diagonal)


@dataclass(frozen=True)
class Factor:
    """An operand of a product, as rows over the summed dimension."""

    step: KernelStep
    """A tensor, or what is computed of some."""
    view: str
    """What makes the rows of the tensor, at no cost: `.mT`."""
    form: SymbolicShape
    """Batches, rows, and the summed dimension last."""
    triangle: Triangle | None = None
    plain: Factor | None = None
    """The tensor whose triangle this is, where that is all that is computed."""
    repeats: int = 1
    """How many batches in a row, along the last dimension of batches, are one and the same in the tensor."""

    @property
    def source(self) -> str:
        return f"{self.step.name}{self.view}"

    @property
    def is_computed(self) -> bool:
        return self.step.op != LEAF

    @property
    def leaves(self) -> tuple[KernelStep, ...]:
        """The tensors that it is made of."""
        return tuple(dict.fromkeys(_leaves(self.step)))

    @property
    def dtype(self) -> str:
        return self.step.dtype

    @property
    def batch(self) -> SymbolicShape:
        return SymbolicShape(self.form.shape[:-2], self.form.dims[:-2])

    def permuted(self, order: list[int]) -> Factor:
        if order == list(range(self.form.rank)):
            return self
        is_turn = order == _last_swapped(self.form.rank)
        turned = ".mT" if is_turn else f".permute({', '.join(map(str, order))})"
        view = self.view.removesuffix(".mT") if is_turn and self.view.endswith(".mT") else f"{self.view}{turned}"
        plain, triangle = self.plain, self.triangle
        plain = plain.permuted(order) if plain is not None else None
        if triangle is not None and order[-2:] == [self.form.rank - 1, self.form.rank - 2]:
            triangle = triangle.turned
        if self.repeats > 1 and order[:-2] != list(range(self.form.rank - 2)):
            raise Unmatched("turns what it repeats")
        return Factor(self.step, view, _permuted(self.form, order), triangle, plain, self.repeats)

    @property
    def turned(self) -> Factor:
        return self.permuted(_last_swapped(self.form.rank))

    def with_repeats(self, low: Lowering, count: int, name: str) -> Factor:
        """Every matrix of the last dimension of batches so many times in a row."""
        dim = self.form.rank - 3
        symbol, size = self.form.dims[dim], self.form.shape[dim] * count
        rule = SizeRule(f"{count} * {{0}}", symbol) if symbol else SizeRule(None, is_constant=True)
        made = low.symbols.make((f"{name}_{self.step.name}", dim), size, rule)
        return replace(self, form=with_dim(self.form, dim, size, made), repeats=count)


@dataclass(frozen=True)
class Product:
    """A product of two matrices, or of two batches of them, among the steps."""

    step: KernelStep
    """Its operands are not steps of the tile."""
    left: Factor
    right: Factor

    @property
    def batch(self) -> SymbolicShape:
        """Empty where all rows meet the same right factor: batches of the left are then but more rows."""
        form = self.step.form
        return (
            SymbolicShape(form.shape[:-2], form.dims[:-2]) if any(self.right.batch.dims) else SymbolicShape((), ())
        )

    @property
    def depth(self) -> int:
        return self.left.form.shape[-1]

    @property
    def of_triangles(self) -> Product:
        """The same with triangles of tensors read where they lie."""
        return Product(self.step, self.left.plain or self.left, self.right.plain or self.right)


def find_triangle(step: KernelStep) -> tuple[KernelStep, Triangle] | None:
    """What a step is the triangle of."""
    if step.op != "where" or step.operands[2] != 0:
        return None
    kept, source = step.operands[:2]
    if not isinstance(kept, KernelStep) or kept.op not in ("le", "ge") or not isinstance(source, KernelStep):
        return None
    column, row = kept.operands
    last = step.form.rank - 1
    if any(not isinstance(one, KernelStep) or one.op != INDEX for one in (column, row)):
        return None
    if column.options != {"dim": last} or row.options.keys() != {"dim", "offset"} or row.options["dim"] != last - 1:
        return None
    ((diagonal, size),) = row.options["offset"]
    return None if size else (source, Triangle(kept.op == "ge", diagonal))


def lower_product(low: Lowering, node: Node, kind: str) -> KernelStep:
    if kind == "einsum":
        return _einsum(low, node)
    operands = [low.operand(argument) for argument in node.args]
    added = operands.pop(0) if kind in _ADDED else None
    left, right = find_factor(operands[0]), find_factor(operands[1])
    vectors = [left.form.rank, right.form.rank].count(1)
    if kind == "linear":
        added = low.operand(find_argument(node, 2, "bias"))
    elif right.form.rank > 1:
        right = right.permuted(_last_swapped(right.form.rank))
    if vectors == 2:
        raise Unmatched("multiplies two vectors, which is a sum")
    step = multiply(low, _with_row(left), _with_row(right), node.name, str(node.dtype))
    step = low.view(step, node) if vectors else step
    added = None if node.kwargs.get("beta", 1) == 0 else _scaled(low, added, node, "beta")
    step = _scaled(low, step, node, "alpha")
    return step if added is None else low.pointwise("add", (step, added), f"{node.name}_biased", str(node.dtype))


def _scaled(low: Lowering, step: Any, node: Node, name: str) -> Any:
    number = node.kwargs.get(name, 1)
    if step is None or number == 1:
        return step
    return low.pointwise("mul", (step, low.operand(number)), f"{node.name}_{name}", str(node.dtype))


def multiply(low: Lowering, left: Factor, right: Factor, name: str, dtype: str) -> KernelStep:
    if left.form.shape[-1] != right.form.shape[-1] or left.dtype != right.dtype:
        raise Unmatched("multiplies what does not fit")
    if right.form.shape == (1, right.form.shape[-1]) and left.form.shape[:-1] != (1,):
        return _turned(low, left, right, name, dtype)
    low.symbols.broadcast([SymbolicShape(one.form.shape[-1:], one.form.dims[-1:]) for one in (left, right)])
    batch = low.symbols.broadcast([left.batch, right.batch])
    rows, columns = left.form, right.form
    form = SymbolicShape(
        (*batch.shape, rows.shape[-2], columns.shape[-2]), (*batch.dims, rows.dims[-2], columns.dims[-2])
    )
    step = KernelStep(low.free_name(name), PRODUCT, (), form, dtype)
    low.products.append(Product(step, left, right))
    return step


def _turned(low: Lowering, matrix: Factor, vector: Factor, name: str, dtype: str) -> KernelStep:
    """A matrix times one vector, computed as the vector's row times all rows of the matrix."""
    shape, dims = matrix.form.shape[:-1], matrix.form.dims
    view = f"{matrix.view}.flatten(0, -2)" if len(shape) > 1 else matrix.view
    rows = tuple(axis for dim in dims[:-1] for axis in dim)
    flat = Factor(matrix.step, view, SymbolicShape((prod(shape), matrix.form.shape[-1]), (rows, dims[-1])))
    step = multiply(low, vector, flat, name, dtype)
    form = low.symbols.view(step.form, (*shape, 1))
    return KernelStep(low.free_name(f"{name}_turned"), VIEW, (step,), form, dtype)


def _einsum(low: Lowering, node: Node) -> KernelStep:
    """Two operands: letters are batches of both, rows of the left, the column of the right, and the summed one."""
    equation = str(node.args[0]).replace(" ", "")
    given, _, wanted = equation.partition("->")
    letters, factors = given.split(","), [find_factor(low.operand(one)) for one in node.args[1]]
    refused = Unmatched(f"sums by einsum ({equation}), which is no product of two matrices")
    if len(letters) != 2 or "." in equation or any(len(set(one)) < len(one) for one in (*letters, wanted)):
        raise refused
    shared = [one for one in letters[0] if one in letters[1]]
    batch, summed = [one for one in wanted if one in shared], [one for one in shared if one not in wanted]
    for first, second, is_turned in ((0, 1, False), (1, 0, False), (0, 1, True), (1, 0, True)):
        rows, columns = (
            [one for one in wanted if one in letters[side] and one not in shared] for side in (first, second)
        )
        counts = [len(batch) + len(rows) + len(summed), len(batch) + len(columns) + len(summed)]
        whole = counts == [len(letters[first]), len(letters[second])]
        order = [[*batch, *rows, *columns].index(one) for one in wanted] if whole else []
        fits = order == sorted(order) or (is_turned and [*wanted[-1:]] == columns)
        if whole and len(summed) == len(columns) == 1 and rows and fits:
            left = factors[first].permuted([letters[first].index(one) for one in (*batch, *rows, *summed)])
            right = factors[second].permuted([letters[second].index(one) for one in (*batch, *columns, *summed)])
            right = _with_ones(right, len(batch), len(rows) - 1) if batch else right
            step = multiply(low, left, right, node.name, str(node.dtype))
            return permuted(low, step, order, node.name) if is_turned else step
    raise refused


def _with_ones(factor: Factor, place: int, count: int) -> Factor:
    """New dimensions of size one."""
    if not count:
        return factor
    shape, dims = factor.form.shape, factor.form.dims
    form = SymbolicShape(
        (*shape[:place], *(1,) * count, *shape[place:]), (*dims[:place], *((),) * count, *dims[place:])
    )
    return Factor(factor.step, f"{factor.view}[{', '.join([':'] * place + ['None'] * count)}]", form)


def find_factor(step: Any) -> Factor:
    if isinstance(step, KernelStep) and step.op == LEAF:
        return Factor(step, "", step.form)
    if isinstance(step, KernelStep) and step.op == MOVE and "order" in step.options:
        return find_factor(step.operands[0]).permuted(step.options["order"])
    if isinstance(step, KernelStep) and (repeated := _find_repeated(step)) is not None:
        return replace(find_factor(repeated[0]), form=step.form, repeats=repeated[1])
    if isinstance(step, KernelStep):
        found = find_triangle(step) if step.form.rank == 2 else None
        if found is None or found[0].op not in (LEAF, MOVE):
            return Factor(step, "", step.form)
        source = find_factor(found[0])
        plain = None if source.is_computed else replace(source, triangle=found[1])
        return Factor(step, "", step.form, found[1], plain)
    raise Unmatched("multiplies what it computes itself")


def _is_plain(how: DimMap) -> bool:
    return how.scale == 1 and not how.offset and how.taken is None


def _find_repeated(step: KernelStep) -> tuple[KernelStep, int] | None:
    """A tensor of which a step has every matrix several times in a row, and how often."""
    rank, source = step.form.rank, step.operands[0] if step.op in (MOVE, VIEW) else None
    if not isinstance(source, KernelStep) or rank < 3:
        return None
    if step.op == VIEW:  # of the same with a new dimension behind that of the matrices
        spread, tensor = source, source.operands[0] if source.op == MOVE else None
        if not isinstance(tensor, KernelStep) or (tensor.op, tensor.form.rank) != (LEAF, rank):
            return None
        places = [i + (i > rank - 3) for i in range(rank)]
        plain = [one.dim for one in spread.options["maps"] if _is_plain(one) and not one.form] == places
        count = spread.form.shape[rank - 2]
        merged = (
            *tensor.form.shape[: rank - 3],
            tensor.form.shape[rank - 3] * count,
            *tensor.form.shape[rank - 2 :],
        )
        return (tensor, int(count)) if plain and count > 1 and step.form.shape == merged else None
    if source.op != LEAF or source.form.rank != rank:
        return None
    maps = step.options["maps"]
    plain = all(one.dim == i and _is_plain(one) for i, one in enumerate(maps))
    forms = [one.form for one in maps]
    by = forms.pop(rank - 3)
    return (
        (source, int(by.removeprefix("{0} // "))) if plain and by.startswith("{0} // ") and not any(forms) else None
    )


def _leaves(step: KernelStep) -> Iterator[KernelStep]:
    if step.op == LEAF:
        yield step
    for operand in step.operands:
        if isinstance(operand, KernelStep):
            yield from _leaves(operand)


def _with_row(factor: Factor) -> Factor:
    """A vector is a matrix of one row."""
    return _with_ones(factor, 0, 1) if factor.form.rank == 1 else factor


def _last_swapped(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


def _permuted(form: SymbolicShape, order: list[int]) -> SymbolicShape:
    return SymbolicShape(tuple(form.shape[one] for one in order), tuple(form.dims[one] for one in order))
