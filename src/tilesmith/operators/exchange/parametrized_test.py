"""What a parametrized test says of an operator: the shapes, sizes, dtypes and scalars that it calls it with.

The test is read, never run. Sizes are followed by where they come from, not by their values: in `shape=(64, 64)`
the two are different sizes, and `(shape[-1],)` is the second of them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tilesmith.operators.exchange.literals import Underivable, dtype_of, literal
from tilesmith.operators.records import LEADING, Number
from tilesmith.syntax import parse

CREATORS = ("randn", "rand", "ones", "zeros", "empty", "full", "randint")
LETTERS = ("N", "M", "B", "A")
"""Of the last size, the one before, ..."""
MOST_CASES = 32


@dataclass(frozen=True)
class SizeOrigin:
    """A size, or all leading sizes, by the parameter of the test that it comes from."""

    source: str
    place: int | None = None
    """Of a parameter that is a shape: which size, from the end; None for a parameter that is the size itself."""
    rank: int | None = None
    """Of that shape, where every case has the same."""
    is_leading: bool = False
    """All sizes before `place`, or all there are."""

    def value(self, case: Any) -> int | tuple[int, ...] | None:
        """In one case; None where that case has no such size."""
        if self.is_leading:
            return (tuple(case[: self.place]) if case or self.place is None else None) if _is_shape(case) else None
        if self.place is None:
            return case if type(case) is int else None
        fits = _is_shape(case) and len(case) >= -self.place and self.rank in (None, len(case))
        return case[self.place] if fits else None


Dimension = SizeOrigin | int


@dataclass(frozen=True)
class TensorUse:
    """A tensor that a test hands to the operator."""

    shape: tuple[Dimension, ...]
    dtype: str | None
    """Where it is not the test's own."""
    below: Dimension | None


class ParametrizedTest:
    """One test function and the module around it."""

    def __init__(self, module: ast.Module, function: ast.FunctionDef, call: ast.Call) -> None:
        self.call = call
        self.function = function
        self._constants = _assignments(module.body)
        self._locals = _assignments(function.body)
        self._rows = list(self._parametrized())
        self._values = {name: tuple(row[name] for row in rows) for rows in self._rows for name in rows[0]}

    def dtypes(self) -> tuple[str, ...]:
        """Of the parameter that holds dtypes; empty where none does."""
        named = ([dtype_of(str(one)) for one in values] for values in self._values.values())
        return next((tuple(filter(None, names)) for names in named if any(names)), ())

    def tensor(self, argument: ast.expr) -> TensorUse:
        creation = self._creation(argument)
        shape = tuple(self._shape_of_creation(creation))
        given = next((ast.unparse(one.value) for one in creation.keywords if one.arg == "dtype"), None)
        by_default = "torch.int64" if _name(creation) == "randint" else ""
        dtype = dtype_of(self._cast(argument) or given or by_default)
        is_index = _name(creation) == "randint" and dtype is not None and "int" in dtype
        return TensorUse(shape, dtype, self._below(creation) if is_index else None)

    def scalar(self, argument: ast.expr) -> Number | tuple[Number, ...]:
        """The value, or all of several."""
        if isinstance(argument, ast.Name) and argument.id in self._locals:
            return self.scalar(self._locals[argument.id])
        if isinstance(argument, ast.Name) and argument.id in self._values:
            values = tuple(dict.fromkeys(self._values[argument.id]))
        else:
            values = (literal(argument, self._constants),)
        if not all(isinstance(one, float | int | bool | str) for one in values):
            raise Underivable
        return values if len(values) > 1 else values[0]

    def cases(self, origins: tuple[SizeOrigin, ...]) -> tuple[Mapping[SizeOrigin, int | tuple[int, ...]], ...]:
        """The sizes of every case that has them all."""
        sources = {one.source for one in origins}
        groups = [
            [{name: value for name, value in row.items() if name in sources} for row in rows]
            for rows in self._rows
            if sources & rows[0].keys()
        ]
        found: list[Mapping[SizeOrigin, int | tuple[int, ...]]] = []
        for rows in itertools.product(*groups):
            values = {name: value for row in rows for name, value in row.items()}
            case = {one: one.value(values.get(one.source)) for one in origins}
            whole = {one: value for one, value in case.items() if value is not None}
            if len(whole) == len(case) and whole not in found:
                found.append(whole)
        return tuple(found[:MOST_CASES])

    def _parametrized(self) -> Iterator[list[dict[str, Any]]]:
        """For each decorator that can be read, a row of values by name for each case."""
        for one in self.function.decorator_list:
            if not isinstance(one, ast.Call) or _name(one) != "parametrize" or len(one.args) < 2:
                continue
            try:
                names = [name.strip() for name in str(literal(one.args[0], {})).split(",")]
                values = literal(one.args[1], self._constants)
            except Underivable:
                continue
            rows = [(value,) if len(names) == 1 else value for value in values] if isinstance(values, tuple) else []
            if rows and all(isinstance(row, tuple) and len(row) == len(names) for row in rows):
                yield [dict(zip(names, row, strict=True)) for row in rows]

    def _creation(self, expression: ast.expr) -> ast.Call:
        """The call that made a tensor, through names, methods and arithmetic."""
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and _name(node) in CREATORS:
                return node
            if isinstance(node, ast.Call) and _name(node).endswith("_like") and node.args:
                return self._creation(node.args[0])
        for node in ast.walk(expression):
            if isinstance(node, ast.Name) and node.id in self._locals:
                return self._creation(self._locals[node.id])
        raise Underivable

    def _cast(self, expression: ast.expr) -> str | None:
        """The dtype in `.to(dtype)`, as it is written."""
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and _name(node) == "to" and node.args:
                text = ast.unparse(node.args[0])
                if dtype_of(text) or text in self._values:
                    return text
        names = [node.id for node in ast.walk(expression) if isinstance(node, ast.Name) and node.id in self._locals]
        return self._cast(self._locals[names[0]]) if names else None

    def _shape_of_creation(self, creation: ast.Call) -> list[Dimension]:
        sizes = [one.value for one in creation.keywords if one.arg in ("size", "shape")] or list(creation.args)
        if _name(creation) == "randint":
            sizes = [one for one in sizes if self._says_shape(one)]
        if _name(creation) == "full":
            sizes = sizes[:1]
        if len(sizes) == 1 and self._says_shape(sizes[0]):
            return self._dimensions(sizes[0])
        return [self._dimension(one) for one in sizes]

    def _says_shape(self, node: ast.expr) -> bool:
        try:
            self._dimensions(node)
        except Underivable:
            return False
        return True

    def _below(self, creation: ast.Call) -> Dimension | None:
        """The end of the range that `randint` draws from, where that begins with 0."""
        numbers = [one for one in creation.args if not self._says_shape(one)]
        named = {one.arg: one.value for one in creation.keywords}
        low = named.get("low", numbers[0] if len(numbers) > 1 else ast.Constant(0))
        high = named.get("high", numbers[-1] if numbers else None)
        return self._dimension(high) if high is not None and literal(low, {}) == 0 else None

    def _dimensions(self, node: ast.expr) -> list[Dimension]:
        if isinstance(node, ast.Tuple | ast.List):
            parts = [
                self._starred(one.value) if isinstance(one, ast.Starred) else [self._dimension(one)]
                for one in node.elts
            ]
            return [size for part in parts for size in part]
        if isinstance(node, ast.Name) and node.id in self._locals:
            return self._dimensions(self._locals[node.id])
        if isinstance(node, ast.Name) and (ranks := _ranks(self._values.get(node.id, ()))):
            if len(ranks) > 1:
                return [SizeOrigin(node.id, -1, is_leading=True), SizeOrigin(node.id, -1)]
            rank = max(ranks)
            return [SizeOrigin(node.id, place - rank, rank) for place in range(rank)]
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return self._shape_of_creation(self._creation(node.value))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return [*self._dimensions(node.left), *self._dimensions(node.right)]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is None:
            ends = [None if one is None else literal(one, {}) for one in (node.slice.lower, node.slice.upper)]
            whole = self._dimensions(node.value)
            if _has_leading(whole) and ends not in ([None, -1], [-1, None]):
                raise Underivable
            return whole[slice(*ends)]
        raise Underivable

    def _starred(self, node: ast.expr) -> list[Dimension]:
        """`*leading` in a longer shape: a parameter with nothing but leading sizes."""
        if isinstance(node, ast.Name) and node.id not in self._locals and _ranks(self._values.get(node.id, ())):
            return [SizeOrigin(node.id, is_leading=True)]
        return self._dimensions(node)

    def _dimension(self, node: ast.expr) -> Dimension:
        if isinstance(node, ast.Name) and node.id in self._locals:
            return self._dimension(self._locals[node.id])
        if isinstance(node, ast.Name) and all(type(one) is int for one in self._values.get(node.id, ("",))):
            return SizeOrigin(node.id)
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            place, whole = literal(node.slice, {}), self._dimensions(node.value)
            if not isinstance(place, int) or not -len(whole) <= place < len(whole):
                raise Underivable
            if _has_leading(whole) and place != -1:
                raise Underivable
            return whole[place]
        value = literal(node, self._constants)
        if type(value) is not int:
            raise Underivable
        return value


def find_test(text: str, operator: str) -> ParametrizedTest | None:
    """The first function of a file that calls the Triton side of an operator."""
    module = parse(text)
    for function in (node for node in module.body if isinstance(node, ast.FunctionDef)):
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _name(node) == operator]
        calls.sort(key=lambda call: "triton" in ast.unparse(call.func))
        if calls and function.decorator_list:
            return ParametrizedTest(module, function, calls[-1])
    return None


def size_names(origins: tuple[SizeOrigin, ...], taken: frozenset[str]) -> Mapping[SizeOrigin, str]:
    """The last size of a shape is N, the one before M; a size that the test names keeps its name."""
    given = {one.source for one in origins if one.place is None and not one.is_leading}
    letters = itertools.chain(LETTERS, (f"D{number}" for number in itertools.count()))
    free = (letter for letter in letters if letter not in given | taken)
    placed = sorted(
        (one for one in dict.fromkeys(origins) if one.place is not None and not one.is_leading),
        key=lambda one: -(one.place or 0),
    )
    named = dict(zip(placed, free, strict=False))
    return {one: LEADING if one.is_leading else named.get(one, one.source) for one in origins}


def _assignments(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """What each name was first given."""
    found: dict[str, ast.expr] = {}
    for node in (node for node in body if isinstance(node, ast.Assign)):
        for target in node.targets:
            if isinstance(target, ast.Name):
                found.setdefault(target.id, node.value)
            elif isinstance(target, ast.Tuple):
                for place, one in enumerate(target.elts):
                    found.setdefault(ast.unparse(one), _item(node.value, place))
    return found


def _item(value: ast.expr, place: int) -> ast.expr:
    if isinstance(value, ast.Tuple | ast.List) and place < len(value.elts):
        return value.elts[place]
    return ast.Subscript(value, ast.Constant(place), ast.Load())


def _ranks(values: tuple[Any, ...]) -> set[int]:
    """Of a parameter whose values are shapes; empty for any other."""
    return {len(one) for one in values} if all(_is_shape(one) for one in values) else set()


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(size) is int for size in value)


def _has_leading(dimensions: list[Dimension]) -> bool:
    return any(isinstance(one, SizeOrigin) and one.is_leading for one in dimensions)


def _name(call: ast.Call) -> str:
    """The last word of what is called."""
    return ast.unparse(call.func).split(".")[-1]
