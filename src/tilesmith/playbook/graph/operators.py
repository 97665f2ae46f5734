"""Which operators of a graph a kernel needs, what they are called, and which nobody here knows."""

from __future__ import annotations

from collections.abc import Collection

from tilesmith.playbook.graph.choices import CHOICES
from tilesmith.playbook.graph.composites import COMPOSITES, in_training_mode
from tilesmith.playbook.graph.gathers import GATHERS
from tilesmith.playbook.graph.moves import MOVES
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references

COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
LOGICAL = {
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_not",
}  # fmt: skip
ARITHMETIC = {
    "bitwise_right_shift", "bitwise_left_shift",
    "add", "sub", "rsub", "mul", "div", "true_divide", "neg", "abs", "square", "reciprocal", "pow", "sqrt",
    "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "fast_exp", "fast_log", "erf", "erfc",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "floor", "ceil", "round", "trunc", "sign", "maximum", "minimum", "clamp", "clamp_min", "clamp_max",
    "finite_or_zero", "where", "masked_fill", "addcmul", "addcdiv", "lerp", "fmod", "trunc_divide",
}  # fmt: skip
ACTIVATIONS = {
    "relu", "relu6", "sigmoid", "silu", "log_sigmoid", "gelu", "mish", "softplus", "elu", "selu", "celu",
    "leaky_relu", "hardtanh", "hardsigmoid", "hardswish", "threshold", "hardshrink", "softshrink",
}  # fmt: skip
POINTWISE = COMPARISONS | LOGICAL | ARITHMETIC | ACTIVATIONS
"""Operators whose every element depends on one element of each operand; `writing/pointwise.py` writes them."""
ALIASES = {
    "alias", "clone", "contiguous", "detach", "dropout", "lift_fresh_copy", "to", "_to_copy", "type_as",
    "feature_dropout", "alpha_dropout",
}  # fmt: skip
"""Operators that give the values they are given."""
COPIES = {"clone", "_to_copy", "lift_fresh_copy"}
"""Aliases with memory of their own."""
PARTED = {"chunk", "split", "split_with_sizes", "unbind", "meshgrid"}
"""Views that are several."""
REPEATED = {"expand", "expand_as", "broadcast_to"}
"""Views that broadcasting would make by itself."""
MOVED_VIEWS = PARTED | REPEATED | {
    "transpose", "permute", "t", "mT", "adjoint", "numpy_T", "swapaxes", "swapdims", "movedim", "slice", "select",
    "narrow", "diagonal",
}  # fmt: skip
"""Views that show elements in other places, or several times, or not at all."""
VIEWS = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as", "_unsafe_view"}
SYNONYMS = {
    "multiply": "mul", "divide": "div", "subtract": "sub", "negative": "neg", "absolute": "abs", "fix": "trunc",
    "clip": "clamp", "arctan": "atan", "arcsin": "asin", "arccos": "acos", "greater": "gt", "less": "lt",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__rshift__": "bitwise_right_shift",
    "__lshift__": "bitwise_left_shift",
}  # fmt: skip
EXTREMES = {"max": "maximum", "min": "minimum"}
"""With two tensors these compare; with one they reduce."""
RANDOM = {"dropout", "feature_dropout", "alpha_dropout"}
_MOST_NAMED = 6


def operator_name(node: Node) -> str:
    """`aten.add_.Tensor` is `add`; the maximum of two tensors is `maximum`."""
    parts = node.op.split(".")
    if len(parts) < 2 or parts[0] != "aten":
        return node.op
    name = parts[1].removesuffix("_") if is_inplace(node) else parts[1]
    return EXTREMES.get(name, name) if parts[-1] == "other" else name


def is_inplace(node: Node) -> bool:
    parts = node.op.split(".")
    return len(parts) > 1 and parts[1].endswith("_") and not parts[1].endswith("__")


PRODUCTS = {"linear", "matmul", "mm", "addmm", "bmm", "baddbmm", "mv", "einsum"}
"""Sums over a dimension that two operands have."""
ATTENTION = {"scaled_dot_product_attention"}
CONVOLUTIONS = {f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)}


def is_known(node: Node) -> bool:
    known = operator_name(node)
    if node.op == "aten.view.dtype":  # the same bits under another type
        return False
    if known in RANDOM and len(node.args) > 2 and node.args[1] and node.args[2]:
        return False
    tables = (ALIASES, VIEWS, MOVES, CHOICES, GATHERS, SYNONYMS, COMPOSITES, POINTWISE)
    return node.op == GETITEM or any(known in table for table in tables)


def is_free(node: Node) -> bool:
    """Whether a node only names what is there already."""
    return node.op == GETITEM or operator_name(node) in ALIASES | VIEWS | MOVED_VIEWS


def is_view(node: Node) -> bool:
    """Whether a node shows elements of its operand, or one of several views of it."""
    return (node.op == GETITEM and node.shape is not None) or operator_name(node) in VIEWS | MOVED_VIEWS


def find_working_nodes(graph: Graph) -> list[Node]:
    """The nodes that read and write memory, casts to another type included."""
    types = {one.name: one.dtype for one in (*graph.leaves, *graph.nodes)}

    def casts(node: Node) -> bool:
        return operator_name(node) in ALIASES and node.dtype != types.get(str(reference(node.args[0])), node.dtype)

    return [node for node in graph.nodes if not is_free(node) or casts(node)]


def find_needed_nodes(graph: Graph) -> list[Node]:
    """The nodes that the outputs depend on, in order."""
    wanted = set(references(graph.outputs))
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        target = reference(node.args[0]) if is_inplace(node) and node.args else None
        if node.name in wanted or target in wanted:
            kept.append(node)
            wanted |= set(references([node.args, node.kwargs]))
        elif is_inplace(node):
            raise Unmatched("writes into a tensor that it does not return")
    return kept[::-1]


def list_working_operators(graph: Graph) -> list[str]:
    """The operators that do something, each once, in order."""
    kinds = (operator_name(node) for node in find_needed_nodes(graph) if node.op != GETITEM)
    return list(dict.fromkeys(kind.strip("_") for kind in kinds if kind not in ALIASES | VIEWS | MOVED_VIEWS))


def refuse_autocast(graph: Graph) -> None:
    if any("autocast" in node.op for node in graph.nodes if not node.op.startswith("aten.")):
        raise Unmatched("switches autocast on, which changes the types that operators compute in")


def refuse_unknown(graph: Graph, also_known: Collection[str] = ()) -> None:
    """Says in one line which operators stand in the way; products do, unless they are among `also_known`."""
    if unknown := list_unknown_operators(graph, also_known):
        raise Unmatched(f"uses {unknown}, which no recipe knows")


def list_unknown_operators(graph: Graph, also_known: Collection[str] = ()) -> str:
    """The operators that no recipe knows, each once, in order, as a text; empty where there is none."""
    nodes = (node for node in find_needed_nodes(graph) if operator_name(node) not in also_known)
    names = list(dict.fromkeys(called(node) for node in nodes if not is_known(node)))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def has_known_work(graph: Graph) -> bool:
    """Whether some operator is one that recipes know, products left out."""
    return any(is_known(node) and not is_free(node) for node in graph.nodes)


def called(node: Node) -> str:
    """The operator as people call it: `linear`, `attention`."""
    name = operator_name(node).strip("_")
    return "attention" if "scaled_dot_product" in name else name


def trains_batch_norm(graph: Graph) -> bool:
    return any(operator_name(node) == "batch_norm" and in_training_mode(node) for node in graph.nodes)
