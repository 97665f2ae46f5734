"""What a parametrized test says of an operator: the shapes, sizes, dtypes and scalars that it calls it with.

The test is read, never run. Sizes are followed by where they come from, not by their values: in `shape=(64, 64)`
the two are different sizes, and `(shape[-1],)` is the second of them."""

from __future__ import annotations

import ast
import itertools
import operator as arithmetic
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tilesmith.operators.records import DTYPES, LEADING, Number
from tilesmith.syntax import parse

CREATORS = ("randn", "rand", "ones", "zeros", "empty", "full", "randint")
LETTERS = ("N", "M", "B", "A")
"""Of the last size, the one before, ..."""
MOST_CASES = 32
_SECOND_NAMES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: arithmetic.add,
    ast.Sub: arithmetic.sub,
    ast.Mult: arithmetic.mul,
    ast.FloorDiv: arithmetic.floordiv,
    ast.LShift: arithmetic.lshift,
    ast.Pow: arithmetic.pow,
}


class Underivable(Exception):
    """The file does not say it in a way that can be read."""


def dtype_of(text: str) -> str | None:
    """`torch.half` as float16; None for what is no dtype."""
    name = text.removeprefix("torch.") if text.startswith("torch.") else ""
    name = _SECOND_NAMES.get(name, name)
    return name if name in DTYPES else None


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
        self._names = _assignments(module.body)
        self._values: dict[str, tuple[Any, ...]] = {}
        self._rows = list(self._parametrized())
        self._values = {name: tuple(row[name] for row in rows) for rows in self._rows for name in rows[0]}
        self._locals = _assignments(function.body)
        self._names = {
            name: value for name, value in self._names.items() if name not in self._values
        } | self._locals

    def dtypes(self) -> tuple[str, ...]:
        """Of the parameter that holds dtypes; empty where none does."""
        named = ([dtype_of(str(one)) for one in values] for values in self._values.values())
        return next((tuple(filter(None, names)) for names in named if any(names)), ())

    def tensor(self, argument: ast.expr) -> TensorUse:
        creation = self._creation(argument)
        shape = self._shape_of_creation(creation)
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
            values = (self._value(argument),)
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
                names = [name.strip() for name in str(self._value(one.args[0])).split(",")]
                values = self._value(one.args[1])
            except (Underivable, RecursionError):
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

    def _shape_of_creation(self, creation: ast.Call) -> tuple[Dimension, ...]:
        sizes = [one.value for one in creation.keywords if one.arg in ("size", "shape")] or list(creation.args)
        if _name(creation) == "randint":
            sizes = [one for one in sizes if self._says_shape(one)]
        if _name(creation) == "full":
            sizes = sizes[:1]
        if len(sizes) == 1 and self._says_shape(sizes[0]):
            return self._shape(sizes[0])
        return tuple(map(self._size, sizes))

    def _says_shape(self, node: ast.expr) -> bool:
        try:
            self._shape(node)
        except Underivable:
            return False
        return True

    def _below(self, creation: ast.Call) -> Dimension | None:
        """The end of the range that `randint` draws from, where that begins with 0."""
        numbers = [one for one in creation.args if not self._says_shape(one)]
        named = {one.arg: one.value for one in creation.keywords}
        low = named.get("low", numbers[0] if len(numbers) > 1 else ast.Constant(0))
        high = named.get("high", numbers[-1] if numbers else None)
        return self._size(high) if high is not None and self._value(low) == 0 else None

    def _shape(self, node: ast.expr) -> tuple[Dimension, ...]:
        value = self._value(node)
        if not isinstance(value, tuple) or not all(map(_is_dimension, value)):
            raise Underivable
        return value

    def _size(self, node: ast.expr) -> Dimension:
        value = self._value(node)
        if not _is_dimension(value):
            raise Underivable
        return value  # type: ignore[no-any-return]

    def _value(self, node: ast.expr) -> Any:
        """What is written out, `2**20` and names included: dtypes as text, sizes and shapes by their origins."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return tuple(value for one in elements for value in self._element(one))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._computed(ast.Sub(), 0, self._value(operand))
            case ast.BinOp(op=operation):
                return self._computed(operation, self._value(node.left), self._value(node.right))
            case ast.Name(id=name) if name in self._names:
                return self._value(self._names[name])
            case ast.Name(id=name) if ranks := _ranks(self._values.get(name, ())):
                if len(ranks) > 1:
                    return SizeOrigin(name, -1, is_leading=True), SizeOrigin(name, -1)
                rank = max(ranks)
                return tuple(SizeOrigin(name, place - rank, rank) for place in range(rank))
            case ast.Name(id=name) if all(type(one) is int for one in self._values.get(name, ("",))):
                return SizeOrigin(name)
            case ast.Attribute(attr="shape", value=tensor):
                return self._shape_of_creation(self._creation(tensor))
            case ast.Attribute() if dtype_of(ast.unparse(node)):
                return ast.unparse(node)
            case ast.Subscript(value=shape, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                ends, whole = (
                    [None if one is None else self._value(one) for one in (lower, upper)],
                    self._shape(shape),
                )
                if not _has_leading(whole) or ends in ([None, -1], [-1, None]):
                    return whole[slice(*ends)]
            case ast.Subscript(value=shape):
                place, whole = self._value(node.slice), self._shape(shape)
                fits = isinstance(place, int) and -len(whole) <= place < len(whole)
                if fits and (place == -1 or not _has_leading(whole)):
                    return whole[place]
        raise Underivable

    def _element(self, node: ast.expr) -> tuple[Any, ...]:
        """`*leading` in a longer shape: a parameter with nothing but leading sizes."""
        if not isinstance(node, ast.Starred):
            return (self._value(node),)
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name not in self._names and _ranks(self._values.get(name, ())):
            return (SizeOrigin(name, is_leading=True),)
        return self._shape(node.value)

    def _computed(self, operation: ast.operator, left: Any, right: Any) -> Any:
        sequences = isinstance(left, tuple) and isinstance(right, tuple) and isinstance(operation, ast.Add)
        small = all(isinstance(one, int | float) and abs(one) < 1 << 40 for one in (left, right))
        if isinstance(operation, ast.Pow | ast.LShift):
            small = small and abs(right) <= 40
        if type(operation) not in _ARITHMETIC or not (sequences or small):
            raise Underivable
        return _ARITHMETIC[type(operation)](left, right)


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


def _is_dimension(value: Any) -> bool:
    return type(value) is int or isinstance(value, SizeOrigin)


def _has_leading(dimensions: tuple[Dimension, ...]) -> bool:
    return any(isinstance(one, SizeOrigin) and one.is_leading for one in dimensions)


def _name(call: ast.Call) -> str:
    """The last word of what is called."""
    return ast.unparse(call.func).split(".")[-1]
