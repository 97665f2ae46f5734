"""A traced graph as the steps of one kernel: composite operators written out, aliases and reshapes seen through."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tilesmith.playbook.graph import choices, composites, gathers, moves, operators
from tilesmith.playbook.graph.names import RESERVED, make_identifier
from tilesmith.playbook.graph.operators import COMPARISONS, LOGICAL, POINTWISE
from tilesmith.playbook.graph.scalars import PLAIN, NamedNumber, find_attribute, find_sizes
from tilesmith.playbook.graph.steps import CAST, LEAF, VIEW, WIDTHS, KernelStep
from tilesmith.playbook.graph.sums import attention, convolutions, factors
from tilesmith.playbook.graph.symbols import Symbols
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references
from tilesmith.tasks.numbers.varying import is_varying, same

ROW_SIZE = "N"
_MOST_STEPS = 120
"""Beyond that a kernel runs out of registers and a reader out of patience."""
_OF_BOOLEANS = (*COMPARISONS, *LOGICAL, "where", "masked_fill", "mul")
"""Pointwise operators whose result may be boolean."""
_LONG_ROW = 16
"""A number this large that equals the length of a row is the length of the row."""


class Lowering:
    """Builds steps; `composites` calls back into it."""

    def __init__(self, graph: Graph, sums: Collection[str] = (), channels_first: bool = False) -> None:
        """`sums`: products or convolutions that are steps, too; their operands are not. `channels_first`: output
        channels are the first dimension of a convolution also where every channel is convolved by itself."""
        self.graph, self.channels_first = graph, channels_first
        self.products: list[factors.Product] = []
        self.quotients: dict[KernelStep, composites.CountedPlace] = {}
        """Places along dimensions that were divided."""
        self.safe_softmax = False
        """Whether a row without any key is zero, not NaN: PyTorch's own attention has it so."""
        self.convolutions: list[convolutions.Convolution] = []
        numbers = {value for value in graph.scalars.values() if type(value) is int}
        self.symbols = Symbols(constants=numbers, varies=bool(graph.varying), elsewhere=graph.sizes)
        self.values: dict[str, KernelStep | tuple[KernelStep, ...]] = {}
        """Steps by the name of the graph's node; several for an operator with several results."""
        self._names: set[str] = set()
        self._scalar_names: dict[str, NamedNumber] = {}
        for given in graph.inputs:
            if given.shape is not None and given.dtype is not None:
                self._leaf(given.name, given.name, given.shape, given.dtype)
        for owned in graph.parameters:
            self._leaf(owned.name, owned.attribute.split(".")[-1] or owned.name, owned.shape, owned.dtype)
        operators.refuse_unknown(graph, sums)
        leaves = len(self._names)
        for node in operators.find_needed_nodes(graph):
            self._add(node)
        if len(self._names) - leaves > _MOST_STEPS:
            raise Unmatched(f"takes {len(self._names) - leaves} steps; one kernel holds at most {_MOST_STEPS}")

    def _add(self, node: Node) -> None:
        value = self.values[node.name] = self._lowered(node)
        if operators.is_inplace(node):
            self.values[str(reference(node.args[0]))] = value
        if isinstance(value, KernelStep) and node.shape is not None:
            if value.form.shape != node.shape:
                raise Unmatched(f"gives {node.shape} in {node.op}, which no recipe follows")
            if not all(map(same, value.form.shape, node.shape)):
                self.symbols.pin_everything()

    def _leaf(self, name: str, short: str, shape: tuple[int, ...], dtype: str) -> None:
        if 0 in shape:
            raise Unmatched(f"works on an empty tensor ({name})")
        if name in self.values:
            raise Unmatched(f"has two tensors called {name}")
        called = self.free_name(short)
        self.values[name] = KernelStep(called, LEAF, (), self.symbols.leaf(called, shape), dtype)

    def step(self, name: str) -> KernelStep:
        value = self.values[name]
        if isinstance(value, tuple):
            raise Unmatched("returns several results of one operator as they are")
        return value

    def free_name(self, wanted: str) -> str:
        wanted = make_identifier(wanted)
        name, number = wanted, 1
        while name in self._names or name in RESERVED:
            name, number = f"{wanted}_{number}", number + 1
        self._names.add(name)
        return name

    def pointwise(self, op: str, operands: Sequence[Any], name: str, dtype: str, **options: Any) -> KernelStep:
        forms = [operand.form for operand in operands if isinstance(operand, KernelStep)]
        form = self.symbols.broadcast(forms)
        return KernelStep(self.free_name(name), op, tuple(operands), form, dtype, options)

    def operand(self, value: Any) -> Any:
        """An argument of a node as an operand of a step."""
        if (name := reference(value)) is not None:
            return self.step(name)
        if isinstance(value, Mapping):
            return float(value["float"]) if "float" in value else value
        if isinstance(value, float) or is_varying(value):
            return self.number(value)
        return value

    def number(self, value: float) -> float:
        """The number, under the name of the attribute it comes from where there is one.

        Triton takes a Python float as float32, so a task in float64 gets its numbers written out.
        """
        is_double = any(one.dtype == "float64" for one in (*self.graph.leaves, *self.graph.nodes))
        known = self._given(value) or find_attribute(value, self.graph.scalars)
        if known is None and is_varying(value):
            known = find_sizes(value, self.graph.sizes)
        if known is None or known.host is None or is_double:
            if is_varying(value):
                self.symbols.pin_everything()
            return value
        if known.host not in self._scalar_names:
            self._scalar_names[known.host] = NamedNumber(value, self.free_name(known.name), known.host)
        return self._scalar_names[known.host]

    def _given(self, value: float) -> NamedNumber | None:
        """The argument of `forward` that is this number, or what `forward` computes from some."""
        inputs = [one for one in self.graph.inputs if type(one.value) is float and not one.decides]
        found = [(one.name, one.expression) for one in inputs if same(one.value, value)]
        found += [(_spoken(one), one) for one, known in self.graph.computed.items() if same(known, value)]
        return NamedNumber(value, *found[0]) if len(found) == 1 and value not in PLAIN else None

    def view(self, step: KernelStep, node: Node) -> KernelStep:
        shape = node.shape or ()
        if shape == step.form.shape:
            return step
        asked = next((one for one in node.args[1:] if isinstance(one, list)), [])
        free = asked.index(-1) if len(asked) == len(shape) and -1 in asked else None
        form = self.symbols.view(step.form, shape, node.name, free)
        return KernelStep(self.free_name(node.name), VIEW, (step,), form, step.dtype)

    def _lowered(self, node: Node) -> KernelStep | tuple[KernelStep, ...]:
        kind = operators.operator_name(node)
        if node.op == GETITEM:
            several = self.values.get(str(reference(node.args[0])))
            if several is None:
                raise Unmatched("takes one of several results that others made")
            return several[node.args[1]] if isinstance(several, tuple) else several
        if kind in operators.ALIASES:
            return self._alias(node)
        if kind in operators.VIEWS:
            return self.view(self.operand(node.args[0]), node)
        for table in (moves.MOVES, choices.CHOICES, gathers.GATHERS):
            if kind in table:
                return table[kind](self, node)
        if kind in operators.PRODUCTS:
            return factors.lower_product(self, node, kind)
        if kind in operators.ATTENTION:
            return attention.lower_attention(self, node)
        if kind in operators.CONVOLUTIONS:
            return convolutions.lower_convolution(self, node)
        if kind in composites.COMPOSITES:
            return composites.COMPOSITES[kind](self, node)
        return self._pointwise(node, operators.SYNONYMS.get(kind, kind))

    def _alias(self, node: Node) -> KernelStep:
        step: KernelStep = self.operand(node.args[0])
        if node.dtype is None or node.dtype == step.dtype:
            return step
        return self.pointwise(CAST, (step,), node.name, node.dtype)

    def _pointwise(self, node: Node, op: str) -> KernelStep:
        operands = [one if is_varying(one) else self.operand(one) for one in node.args]
        steps = [operand for operand in operands if isinstance(operand, KernelStep)]
        if not steps or node.dtype is None:
            raise Unmatched(f"makes a tensor out of nothing ({node.op})")
        options = {key: self.operand(value) for key, value in node.kwargs.items()}
        if op.startswith("logical") and any(step.dtype != "bool" for step in steps):
            raise Unmatched(f"takes {steps[0].dtype} for booleans")
        if mode := options.pop("rounding_mode", None):
            return composites.divide(self, node.args, mode, node)
        if "shift" in op and operands[1] not in range(8 * WIDTHS.get(node.dtype, 1)):
            return composites.shift(self, op, operands, node)
        if op == "bitwise_right_shift" and composites.find_place(self, operands[0]):
            return composites.divide(self, (node.args[0], 1 << operands[1]), "floor", node)
        if node.dtype == "bool" and op not in _OF_BOOLEANS:
            raise Unmatched(f"does arithmetic on booleans ({node.op})")
        operands = [self._as_size(operand, steps, op) for operand in operands]
        step = self.pointwise(op, operands, node.name, node.dtype, **options)
        if step.form.shape != (node.shape or ()):
            raise Unmatched("repeats a tensor along a dimension that no other operand has")
        return step

    def _as_size(self, operand: Any, steps: Sequence[KernelStep], op: str) -> Any:
        """A number that equals the length of the rows a value was reduced over is that length, or one less."""
        lengths = frozenset[int]().union(*(step.row_lengths for step in steps))
        is_number = isinstance(operand, int | float) and (operand >= _LONG_ROW or is_varying(operand))
        for less, name in ((0, ROW_SIZE), (1, f"({ROW_SIZE} - 1)")) if is_number and op not in COMPARISONS else ():
            if any(same(operand + less, length) for length in lengths):
                return NamedNumber(float(operand), name, None)
        return self.number(operand) if is_varying(operand) else operand


def _spoken(expression: str) -> str:
    """`minus_limit` for `-limit`, `one_minus_rate` for `1 - rate`."""
    for symbol, word in (("1 ", "one "), ("+", "plus"), ("-", "minus "), ("*", "times"), ("/", "over")):
        expression = expression.replace(symbol, word)
    return re.sub(r"\W+", "_", expression).strip("_")


def list_outputs(graph: Graph) -> tuple[str, ...]:
    """The nodes that the task returns, each once, inputs left out."""
    leaves = {leaf.name for leaf in graph.leaves}
    return tuple(dict.fromkeys(name for name in references(graph.outputs) if name not in leaves))


assert set(operators.SYNONYMS.values()) <= POINTWISE
