"""Numbers of a graph that depend on the sizes of its inputs, told by traces at other shapes. Pure: no torch here.

A trace says that `x` was divided by 8.0, not that 8.0 was the root of a size. Where the same pass goes through the
same operators at another shape and 8.0 is another number there, it was computed; where it is not, it stood in the
code. So a number remembers what it was in every trace, and whoever needs it for all shapes looks for the expression
over sizes that gives it in all of them (`size_expressions`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from keyword import iskeyword
from typing import Any

from tilesmith.tasks.graph import Graph

Values = tuple[float, ...]


def _spread(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    compute = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        mine, theirs = self.values, values_of(other) or (other,) * len(self.values)
        pairs = zip(theirs, mine, strict=True) if reflected else zip(mine, theirs, strict=True)
        try:
            return make_varying([compute(a, b) for a, b in pairs])
        except ZeroDivisionError:  # at another shape
            return getattr(int if isinstance(self, int) else float, f"__{'r' * reflected}{name}__")(self, other)

    return method


class _Spreading:
    """Arithmetic with what a number is in every trace."""

    values: Values
    """In all traces, this one first."""
    __add__, __radd__ = _spread("add", False), _spread("add", True)
    __sub__, __rsub__ = _spread("sub", False), _spread("sub", True)
    __mul__, __rmul__ = _spread("mul", False), _spread("mul", True)
    __mod__, __rmod__ = _spread("mod", False), _spread("mod", True)
    __floordiv__, __rfloordiv__ = _spread("floordiv", False), _spread("floordiv", True)
    __truediv__, __rtruediv__ = _spread("truediv", False), _spread("truediv", True)

    def __neg__(self) -> Any:
        return 0 - self


class VaryingInt(_Spreading, int):
    """An integer that is another one at other shapes; it counts as what it is at this one."""


class VaryingFloat(_Spreading, float):
    """The same of a float."""


def make_varying(values: Sequence[float]) -> float:
    """The first of the values, which remembers the others unless they are all the same."""
    first = values[0]
    if all(one == first for one in values):
        return first
    kind: Any = VaryingInt if isinstance(first, int) else VaryingFloat
    number = kind(first)
    number.values = tuple(values)
    return number  # type: ignore[no-any-return]


def is_varying(number: Any) -> bool:
    return isinstance(number, VaryingInt | VaryingFloat)


def values_of(number: float) -> Values | None:
    """What a number is in every trace; None for one that is always the same."""
    return number.values if isinstance(number, VaryingInt | VaryingFloat) else None


def always(compare: Callable[[Any, Any], Any], one: float, other: float) -> bool:
    """Whether two numbers compare so in every trace."""
    several = values_of(one) or values_of(other)
    if several is None:
        return bool(compare(one, other))
    first, second = (values_of(number) or (number,) * len(several) for number in (one, other))
    return all(map(compare, first, second))


def same(one: float, other: float) -> bool:
    """Whether two numbers are equal in every trace."""
    return always(operator.eq, one, other)


def with_varying(graph: Graph, others: Sequence[Graph]) -> Graph:
    """The graph, which says what its numbers are in those of the other traces that go the same way."""
    numbers = _numbers(graph)
    alike = [_numbers(one) for one in others if goes_the_same_way(one, graph)]
    rows = list(zip(numbers, *alike, strict=True))
    varying = {str(i): tuple(row[1:]) for i, row in enumerate(rows) if any(one != row[0] for one in row)}
    return replace(graph, varying=varying)


def goes_the_same_way(one: Graph, other: Graph) -> bool:
    """Whether two traces differ in nothing but their numbers."""
    return _skeleton(one) == _skeleton(other)


def varying_of(graph: Graph) -> list[Values]:
    """What its numbers that vary are in all traces, in order."""
    return [values for number in _numbers(graph) if (values := values_of(number)) is not None]


def remember_varying(graph: Graph) -> Graph:
    """The graph with numbers that know what they are in other traces."""
    if not graph.varying:
        return graph
    places = iter(range(len(_numbers(graph))))

    def known(number: float) -> float:
        others = graph.varying.get(str(next(places)))
        return number if others is None else make_varying((number, *others))

    graph = _with_numbers(graph, known)
    kept = {f"self.{name}" for name in graph.scalars}
    return replace(graph, sizes={name: size for name, size in _sizes(graph) if is_varying(size) or name in kept})


def _sizes(graph: Graph) -> Iterator[tuple[str, int]]:
    """All sizes of inputs and parameters, and the integers that the model keeps."""
    yield from sizes_of_inputs(graph).items()
    tensors = [(f"self.{one.attribute}", one.shape) for one in graph.parameters if _is_plain(one.attribute)]
    yield from ((f"{name}.shape[{i}]", size) for name, shape in tensors for i, size in enumerate(shape))
    numbers = graph.scalars.items()
    yield from ((f"self.{name}", one) for name, one in numbers if isinstance(one, int) and _is_plain(name))


def sizes_of_inputs(graph: Graph) -> dict[str, int]:
    """All sizes of inputs, as `forward` finds them."""
    tensors = ((one.expression, one.shape or ()) for one in graph.inputs)
    return {f"{name}.shape[{i}]": size for name, shape in tensors for i, size in enumerate(shape)}


def _is_plain(attribute: str) -> bool:
    """Whether Python finds it by this name."""
    return bool(attribute) and all(part.isidentifier() and not iskeyword(part) for part in attribute.split("."))


def numbers_in(value: Any) -> list[float]:
    """All numbers in a nest of arguments, in order."""
    found: list[float] = []

    def note(number: float) -> float:
        found.append(number)
        return number

    _changed(value, note)
    return found


def _numbers(graph: Graph) -> list[float]:
    tensors = [[one.shape, one.stride] for one in graph.inputs]
    owned = [[one.shape, one.stride, one.values] for one in graph.parameters]
    nodes = [[one.args, one.kwargs, one.shape] for one in graph.nodes]
    return numbers_in([tensors, owned, nodes, graph.outputs, graph.scalars])


def _skeleton(graph: Graph) -> Graph:
    """All of it but the numbers."""
    return replace(_with_numbers(graph, lambda number: type(number)()), varying={})


def _with_numbers(graph: Graph, change: Callable[[float], float]) -> Graph:
    """The graph with every number changed, always in the same order."""

    def changed(value: Any) -> Any:
        return _changed(value, change)

    return replace(
        graph,
        inputs=tuple(replace(one, shape=changed(one.shape), stride=changed(one.stride)) for one in graph.inputs),
        parameters=tuple(
            replace(one, shape=changed(one.shape), stride=changed(one.stride), values=changed(one.values))
            for one in graph.parameters
        ),
        nodes=tuple(
            replace(one, args=changed(one.args), kwargs=changed(one.kwargs), shape=changed(one.shape))
            for one in graph.nodes
        ),
        outputs=changed(graph.outputs),
        scalars=changed(graph.scalars),
    )


def _changed(value: Any, change: Callable[[float], float]) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _changed(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_changed(one, change) for one in value)
    return value
