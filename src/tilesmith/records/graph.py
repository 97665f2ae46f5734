"""A task's forward pass as data: PyTorch operators in order, with shapes and dtypes. Pure: no torch here.

Arguments of a node are JSON values; what JSON has no word for is a dictionary with one key:

    {"node": "add_1"}        the value of another node, an input or a parameter
    {"dtype": "float32"}     a dtype
    {"float": "-inf"}        a float that JSON cannot write
    {"other": "..."}         anything else (a device, a memory format), as text

The outputs are a nest of lists and dictionaries with such references at its leaves, {"value": ...} for plain
values, {"tuple": [...]} where the task returns a tuple, and {"record": {"Output": {...}}} where it returns a named
tuple or a dataclass that its module calls so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Input:
    """One tensor (or plain value) among the arguments of `forward`."""

    name: str
    argument: str
    """The name of the parameter of `forward` that holds it."""
    path: tuple[Any, ...]
    """Where it is inside that argument: keys and positions; empty for the argument itself."""
    shape: tuple[int, ...] | None
    """Null for a plain value, which is then a literal in the graph."""
    stride: tuple[int, ...] | None
    dtype: str | None
    value: Any = None
    """Of a plain value: the number, string or boolean itself."""
    decides: bool = False
    """Of a number: whether the pass looks at it, so that another one may go another way."""

    @property
    def expression(self) -> str:
        """As `forward` finds it: `x`, `pair[0]`."""
        return self.argument + "".join(f"[{step!r}]" for step in self.path)


@dataclass(frozen=True)
class Parameter:
    """A parameter, buffer or tensor attribute of the model."""

    name: str
    attribute: str
    """Its dotted name on the model: `norm.weight`. Empty for a constant that `forward` makes itself."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    values: Any = None
    """Of a constant that `forward` makes itself: its numbers, as nested lists; null where they are too many."""


@dataclass(frozen=True)
class Node:
    """One operator call."""

    name: str
    op: str
    """As PyTorch names it: `aten.softmax.int`."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: tuple[int, ...] | None
    """Null where the operator gives several results."""
    dtype: str | None


@dataclass(frozen=True)
class Graph:
    """A forward pass without branches: every node once, after what it needs."""

    inputs: tuple[Input, ...]
    parameters: tuple[Parameter, ...]
    nodes: tuple[Node, ...]
    outputs: Any
    scalars: dict[str, Any] = field(default_factory=dict)
    """Plain numbers the model keeps as attributes, by dotted name: `norm.eps`."""
    training: bool = True
    """The mode it was traced in; a model with dropout is traced in evaluation mode, as it is judged."""
    memory: dict[str, str] = field(default_factory=dict)
    """Values that lie in the memory of an earlier one, and that one."""
    writes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Nodes that write into their operands, and which those are."""
    random: tuple[str, ...] = ()
    """Nodes that draw random numbers, in order."""
    assigned: dict[str, str] = field(default_factory=dict)
    """Tensors of the model that are other ones after the pass, by dotted name, and what they are then."""
    signature: str = ""
    """Of the forward pass: `self, x, mask=None`; empty where its defaults are no plain values."""
    computed: dict[str, float] = field(default_factory=dict)
    """Numbers that the pass computes from those among its arguments, by expression: `-limit`, `1 - momentum`."""
    varying: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Numbers that were others where the pass was traced at other shapes: their place among all numbers of the
    graph, and what they were there. Empty where there is no such trace."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Sizes that vary and integers that the model keeps, as `forward` finds them: `x.shape[0]`, `self.window`."""
    conditions: dict[str, str] = field(default_factory=dict)
    """What must hold of sizes for the pass to go this way: `x.shape[1] <= 64` by `x.shape[1] > 64`."""
    turning: dict[str, int] = field(default_factory=dict)
    """Sizes of inputs with which the pass was seen to go another way for no such reason, by name, and how many
    operators it has more for each one more, as a loop has; 0 where that is not known."""

    @property
    def leaves(self) -> tuple[Input | Parameter, ...]:
        """Everything the nodes can refer to that is not a node."""
        return (*self.inputs, *self.parameters)


@dataclass(frozen=True)
class ModulePart:
    """A module inside a model that could not be traced as a whole."""

    paths: tuple[str, ...]
    """Where it is, and all that do the same."""
    module: str
    """Its class as the task's file calls it: `nn.Sequential`, `Block`."""
    signature: str
    """Of its forward: `self, x, mask=None`"""
    graph: Graph
    """With names of parameters as the module itself has them."""
