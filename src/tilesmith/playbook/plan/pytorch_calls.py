"""Operators that stay PyTorch's, as lines of Python: exactly what the forward pass called."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from tilesmith.playbook.graph.indices import grouped
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import GETITEM, Graph, Node, Parameter, reference, references
from tilesmith.tasks.numbers.size_expressions import explain
from tilesmith.tasks.numbers.varying import is_varying, same

_METHODS = {
    "view", "reshape", "transpose", "permute", "expand", "contiguous", "unsqueeze", "squeeze", "flatten", "chunk",
    "unflatten", "unbind", "repeat", "masked_fill", "index_select", "gather", "clone", "detach", "t", "narrow",
    "select", "add_", "sub_", "mul_", "div_", "copy_", "fill_", "zero_", "masked_fill_", "scatter_add_",
}  # fmt: skip
"""Written as methods of their first operand, with the same arguments."""
_IN_TORCH = {
    "matmul", "mm", "bmm", "addmm", "baddbmm", "cat", "stack", "relu", "sigmoid", "tanh", "exp", "log", "sqrt",
    "rsqrt", "abs", "softmax", "log_softmax", "einsum", "where", "outer", "cumsum", "cumprod", "flip", "roll",
    "tril", "triu", "bernoulli", "batch_norm", "group_norm", "layer_norm", "instance_norm", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "dropout", "topk", "sort", "pow", "maximum", "minimum", "sin", "cos",
    "sum", "mean", "amax", "amin", "aminmax", "max", "min", "argmax", "argmin", "argsort", "logsumexp", "prod",
    "clamp", "neg", "square", "sign", "floor", "ceil", "round", "erf", "log1p", "expm1", "log2", "log10", "lerp",
    "arange", "linspace", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "cross",
    "scatter", "scatter_add", "scatter_reduce", "index_add", "bincount", "ctc_loss", "searchsorted", "bucketize",
    "remainder", "frexp", "ldexp", "logcumsumexp", "repeat_interleave",
}  # fmt: skip
"""Functions of `torch` that take what the operator takes, in its order."""
_IN_FUNCTIONAL = {"linear", "gelu", "silu", "scaled_dot_product_attention", "pad"}
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!="}
_INFIX |= {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MODULES = ("fft", "linalg")
"""Modules of `torch` that operators are named after: `fft_rfft`."""
_OPEN_END = 2**63 - 1
SIZED = {"view": 1, "reshape": 1, "expand": 1, "_unsafe_view": 1}
"""Where an operator takes the sizes of its result."""
_DEVICE = re.compile(r"(cpu|cuda|hip|meta)(:\d+)?")
_COMPLEX = re.compile(r"\(?[-+.e\d]*j\)?")

Host = Callable[[str], str]
"""How `forward` calls a value of the graph."""


def write_call(node: Node, host: Host, graph: Graph, near: str) -> str:
    """`near` is a tensor on the device that the pass runs on."""
    shapes = {one.name: one.shape for one in (*graph.leaves, *graph.nodes)}
    return _CallWriter(host, shapes, near, graph.sizes).write(node)


def write_constant(owned: Parameter, near: str, sizes: dict[str, int]) -> str:
    """A tensor that the pass makes of numbers."""
    values = _CallWriter(str, {}, near, sizes).argument(owned.values)
    return f"torch.tensor({values}, dtype=torch.{owned.dtype}, device={near}.device)"


def write_block(node: Node, near: str) -> str:
    """The head of a block with autocast, which is for the device that the pass runs on."""
    device, dtype, is_enabled = node.args[:3]
    kind = f"{near}.device.type" if device == "cpu" else repr(device)
    types = f", dtype=torch.{dtype['dtype']}" if dtype else ""
    return f"with torch.autocast({kind}{types}{'' if is_enabled else ', enabled=False'}):"


class _CallWriter:
    def __init__(
        self,
        host: Host,
        shapes: Mapping[str, tuple[int, ...] | None],
        near: str,
        sizes: dict[str, int],
    ) -> None:
        self._host, self._shapes, self._near, self._sizes = host, shapes, near, sizes

    def write(self, node: Node) -> str:
        if node.op == GETITEM:
            return f"{self.argument(node.args[0])}[{node.args[1]!r}]"
        namespace, name, *overload = node.op.split(".")
        if namespace != "aten":
            raise Unmatched(f"calls {node.op}, which has no words outside of the tracer")
        near = [(name, self._shapes.get(name) or ()) for name in references([node.args, node.kwargs])]
        own = {f"{self._host(name)}.shape[{i}]": size for name, shape in near for i, size in enumerate(shape)}
        self._sizes = {name: size for name, size in own.items() if is_varying(size)} | self._sizes
        given, named = self._with_sizes(name, node), node.kwargs
        if name == "einsum":  # torch.einsum has no argument for the order of its operands: it finds that by itself
            given, named = [given[0], *given[1]], {}
        args = [self.argument(one) for one in given]
        kwargs = [
            f"{key}={self.argument(one)}" for key, one in named.items() if (key, one) != ("pin_memory", False)
        ]
        if name in _INFIX and len(args) == 2 and not kwargs:
            args = [grouped(text) if is_varying(one) else text for text, one in zip(args, node.args, strict=True)]
            return f"{args[0]} {_INFIX[name]} {args[1]}"
        if name == "slice" and not kwargs:
            return self._slice(node, args)
        if name == "index" and not kwargs:
            places = ", ".join(":" if one is None else self.argument(one) for one in node.args[1])
            return f"{args[0]}[{places}]"
        if name in _METHODS:
            if name == "view" and overload != ["dtype"]:
                name = "reshape"  # a kernel's results are contiguous, whatever PyTorch's would have been
            return f"{args[0]}.{name}({', '.join([*args[1:], *kwargs])})"
        place = self._place(node, name, ".".join(overload) or "default")
        return f"{place}({', '.join([*args, *kwargs])})"

    def _place(self, node: Node, name: str, overload: str) -> str:
        if name in _IN_FUNCTIONAL:
            return f"nn.functional.{name}"
        module, _, own = name.partition("_")
        if module in _MODULES:
            return f"torch.{module}.{own}"
        return f"torch.{name}" if name in _IN_TORCH else f"torch.ops.aten.{name}.{overload}"

    def _slice(self, node: Node, args: Sequence[str]) -> str:
        """(x, dim, start, end, step), as Python writes it."""
        rank = len(self._shapes.get(str(reference(node.args[0]))) or ())
        values = [*node.args[1:], *(0, None, None, 1)[len(node.args) - 1 :]]
        texts = [*args[1:], *("0", "None", "None", "1")[len(node.args) - 1 :]]
        start = "" if values[1] in (0, None) else texts[1]
        end = "" if values[2] in (None, _OPEN_END) else texts[2]
        step = "" if values[3] == 1 else f":{texts[3]}"
        return f"{args[0]}[{':, ' * (values[0] % rank)}{start}:{end}{step}]"

    def _with_sizes(self, name: str, node: Node) -> Sequence[Any]:
        """Sizes that the operand has in the same place are read off it, so that other batches pass."""
        place = SIZED.get(name)
        source = reference(node.args[0]) if node.args else None
        if place is None or source is None or not isinstance(node.args[place], list):
            return node.args
        known = self._shapes.get(source) or ()
        sizes = [
            {"size": (source, i)} if i < len(known) and same(one, known[i]) and (i < 2 or is_varying(one)) else one
            for i, one in enumerate(node.args[place])
        ]
        return [*node.args[:place], sizes, *node.args[place + 1 :]]

    def argument(self, value: Any) -> str:
        if (name := reference(value)) is not None:
            return self._host(name)
        if isinstance(value, Mapping):
            return self._special(value)
        if isinstance(value, list | tuple):
            return f"[{', '.join(self.argument(one) for one in value)}]"
        if isinstance(value, float) and not isfinite(value):
            return f'float("{value}")'
        found = explain(value, self._sizes) if is_varying(value) else None
        return repr(value) if found is None else found.write(str)

    def _special(self, value: Mapping[str, Any]) -> str:
        if set(value) == {"size"}:
            source, axis = value["size"]
            return f"{self._host(source)}.shape[{axis}]"
        if set(value) == {"dtype"}:
            return f"torch.{value['dtype']}"
        if set(value) == {"float"}:
            return f"float({value['float']!r})"
        text = str(value.get("other", ""))
        if _DEVICE.fullmatch(text):
            return f"{self._near}.device"
        if text.startswith("torch.") or _COMPLEX.fullmatch(text):
            return text
        raise Unmatched(f"passes {text or value} to an operator")
