"""`einsum` and `tensordot` in another form: products of two matrices, or what is multiplied and then summed.

An einsum of two operands that recipes take as it is stays so: one summed letter, one letter of columns, in order.
"""

from __future__ import annotations

from functools import reduce
from math import prod

from tilesmith.playbook.graph.operators import operator_name
from tilesmith.playbook.plan.rewriting.writer import Value, Writer
from tilesmith.tasks.graph import Node, reference


def einsum(writer: Writer) -> bool:
    """(equation, operands)"""
    equation = str(writer.node.args[0]).replace(" ", "")
    given, arrow, wanted = equation.partition("->")
    letters = given.split(",")
    operands = [writer.value(one) for one in writer.node.args[1]]
    if not arrow or "." in equation or len({one.dtype for one in operands}) > 1 or len(set(wanted)) < len(wanted):
        return False
    if any(len(one) > len(set(one)) + 1 for one in letters):
        return False
    terms = [_without_twins(*pair) for pair in zip(letters, operands, strict=True)]
    everything = "".join(dict.fromkeys("".join(one for one, _ in terms)))
    elementwise = any(set(one) == set(everything) for one, _ in terms)
    known = [writer.known[str(reference(one))] for one in writer.node.args[1]]
    is_running = any(isinstance(one, Node) and operator_name(one) == "cumsum" for one in known)  # left as it lies
    if len(terms) == 2 and not (elementwise and (is_running or _is_sum_of_equals(terms, wanted))):
        return not _is_taken(terms, wanted) and _contracted(terms[0], terms[1], wanted) is not None
    if elementwise:
        return _multiplied(writer, terms, wanted)
    while len(terms) > 1:
        (first, _), (second, _) = terms[:2]
        kept = wanted if len(terms) == 2 else "".join({*wanted, *"".join(one for one, _ in terms[2:])})
        left = "".join(one for one in dict.fromkeys(first + second) if one in kept)
        left = wanted if len(terms) == 2 else left
        if not {*first, *second} - {*left}:
            return False  # a product that sums nothing only grows
        made = _contracted(terms[0], terms[1], left)
        if made is None:
            return False
        terms[:2] = [(left, made)]
    return True


_Term = tuple[str, Value]
"""An operand and a letter for each of its dimensions."""


def _without_twins(letters: str, x: Value) -> _Term:
    """The diagonal, where two dimensions have one letter."""
    twin = next((one for one in letters if letters.count(one) == 2), None)
    if twin is None:
        return letters, x
    first, second = (i for i, one in enumerate(letters) if one == twin)
    rest = [size for i, size in enumerate(x.shape) if i not in (first, second)]
    x = x.writer.add("diagonal.default", (x, 0, first, second), (*rest, x.shape[first]), x.dtype)
    return letters.replace(twin, "") + twin, x


def _is_sum_of_equals(terms: list[_Term], wanted: str) -> bool:
    return {*terms[0][0]} == {*terms[1][0]} and len(wanted) < len(terms[0][0])


def _is_taken(terms: list[_Term], wanted: str) -> bool:
    """Whether the recipe for products reads it as it stands."""
    (first, _), (second, _) = terms
    shared = {*first} & {*second}
    columns = [len({*one} & {*wanted} - shared) for one in (first, second)]
    return len(shared - {*wanted}) == 1 and 1 in columns and _in_order(terms, wanted)


def _in_order(terms: list[_Term], wanted: str) -> bool:
    (first, _), (second, _) = terms
    batch = [one for one in wanted if one in first and one in second]
    for one, other in ((first, second), (second, first)):
        rows = [letter for letter in wanted if letter in one and letter not in other]
        columns = [letter for letter in wanted if letter in other and letter not in one]
        order = "".join([*batch, *rows, *columns])
        if rows and len(columns) == 1 and (order == wanted or wanted[-1] == columns[0]):
            return order == wanted or sorted(order) == sorted(wanted)
    return False


def _multiplied(writer: Writer, terms: list[_Term], wanted: str) -> bool:
    """All operands side by side, of which one has every letter: read once, multiplied, summed."""
    base = max(terms, key=lambda one: len(one[0]))
    if len(terms) == 1 and not {*base[0]} - {*wanted}:
        return False
    letters = base[0]
    aligned = [base[1], *(_aligned(one, x, letters) for one, x in terms if x is not base[1])]
    x = reduce(lambda a, b: a * b, aligned)
    left = [i for i, one in enumerate(letters) if one in wanted]
    if len(left) < len(letters):
        over = [i for i in range(len(letters)) if i not in left]
        x = writer.add("sum.dim_IntList", (x, over), tuple(x.shape[i] for i in left), x.dtype)
    letters = "".join(letters[i] for i in left)
    _permuted(x, [letters.index(one) for one in wanted])
    return bool(writer.nodes)


def _aligned(own: str, x: Value, letters: str) -> Value:
    """With the dimensions in the order of `letters`, and ones for those that it has not."""
    x = _permuted(x, sorted(range(len(own)), key=lambda i: letters.index(own[i])))
    sizes = dict(zip(sorted(own, key=letters.index), x.shape, strict=True))
    return x.viewed(tuple(sizes.get(one, 1) for one in letters)) if len(own) < len(letters) else x


def _contracted(first: _Term, second: _Term, wanted: str) -> Value | None:
    """A product of two matrices, or of batches of them; None where it sums over one operand alone."""
    (left, a), (right, b) = first, second
    sizes = dict(zip(left + right, a.shape + b.shape, strict=True))
    batch = "".join(one for one in wanted if one in left and one in right)
    rows = "".join(one for one in wanted if one in left and one not in right)
    columns = "".join(one for one in wanted if one in right and one not in left)
    summed = "".join(one for one in left if one in right and one not in wanted)
    if not summed or {*left} != {*batch, *rows, *summed} or {*right} != {*batch, *columns, *summed}:
        return None
    lead, each = tuple(sizes[one] for one in batch), tuple(sizes[one] for one in rows)
    m, k = (prod(sizes[one] for one in group) for group in (columns, summed))
    each = (prod(each),) if batch else each  # all rows meet one matrix, or those of a batch their own
    a = _reshaped(_permuted(a, [left.index(one) for one in batch + rows + summed]), (*lead, *each, k))
    b = _reshaped(_permuted(b, [right.index(one) for one in batch + summed + columns]), (*lead, k, m))
    x = a.writer.add("matmul.default", (a, b), (*lead, *each, m), a.dtype)
    letters = batch + rows + columns
    x = _reshaped(x, tuple(sizes[one] for one in letters))
    return _permuted(x, [letters.index(one) for one in wanted])


def _reshaped(x: Value, shape: tuple[int, ...]) -> Value:
    return x if shape == x.shape else x.writer.add("reshape.default", (x, list(shape)), shape, x.dtype)


def _permuted(x: Value, order: list[int]) -> Value:
    if order == list(range(len(order))):
        return x
    return x.writer.add("permute.default", (x, order), tuple(x.shape[i] for i in order), x.dtype)


def tensordot(writer: Writer) -> bool:
    """(a, b, dimensions of a, dimensions of b)"""
    a, b = writer.operand(0), writer.operand(1)
    over = [[dim % len(x.shape) for dim in writer.node.args[i]] for i, x in ((2, a), (3, b))]
    if not over[0] or a.dtype != b.dtype:
        return False
    left = [chr(ord("a") + i) for i in range(len(a.shape))]
    right = [chr(ord("A") + i) for i in range(len(b.shape))]
    for one, other in zip(*over, strict=True):
        right[other] = left[one]
    wanted = [one for one in left + right if (one in left) is not (one in right)]
    return _contracted(("".join(left), a), ("".join(right), b), "".join(wanted)) is not None
