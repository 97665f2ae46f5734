"""What the functions of `triton.language` make of their arguments, as far as shapes go."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilesmith.lint.model.values import (
    STATIC,
    TENSOR,
    TUPLE,
    UNKNOWN,
    Kind,
    Shape,
    Value,
    combine,
    dimension,
)


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call: their syntax and what is known of them."""

    node: ast.Call
    given: list[Value]
    named: Mapping[str, Value]
    imports: Mapping[ast.AST, str]

    def value(self, position: int, name: str) -> Value:
        if position < len(self.given):
            return self.given[position]
        return self.named.get(name, UNKNOWN)

    def expression(self, position: int, name: str) -> ast.expr | None:
        if position < len(self.node.args):
            return self.node.args[position]
        return next((k.value for k in self.node.keywords if k.arg == name), None)

    def without_first(self) -> Arguments:
        """As a method sees them: the tensor itself stands before."""
        filler = ast.Constant(None)
        shifted = ast.Call(self.node.func, [filler, *self.node.args], self.node.keywords)
        return Arguments(shifted, [UNKNOWN, *self.given], self.named, self.imports)

    def dtype(self, position: int, name: str = "dtype") -> str:
        expression = self.expression(position, name)
        return "" if expression is None else self.imports.get(expression, "").removeprefix("triton.language.")


def arange(a: Arguments) -> Value:
    start, end = a.expression(0, "start"), a.expression(1, "end")
    from_zero = isinstance(start, ast.Constant) and start.value == 0
    if from_zero:
        return Value(Kind.TENSOR, (dimension(end),), "int32")
    low, high = literal_int(start), literal_int(end)
    span = None if low is None or high is None else high - low
    return Value(Kind.TENSOR, (span,), "int32")


def filled(a: Arguments) -> Value:
    shape = shape_of(a.expression(0, "shape"))
    full = len(a.given) > 2 or "value" in a.named
    return Value(Kind.TENSOR, shape, a.dtype(2) if full else a.dtype(1))


def shape_of(expression: ast.expr | None) -> Shape:
    """`(M, N)` or `[M, N]` as written; anything else is unknown."""
    if isinstance(expression, (ast.Tuple, ast.List)):
        return tuple(dimension(part) for part in expression.elts)
    return None


def same(a: Arguments) -> Value:
    value = a.value(0, "input")
    return Value(Kind.TENSOR, value.shape, a.dtype(1) or value.dtype)


def cast(a: Arguments) -> Value:
    value = a.value(0, "input")
    return Value(value.kind, value.shape, a.dtype(1))


def load(a: Arguments) -> Value:
    pointer = a.value(0, "pointer")
    return Value(Kind.TENSOR, pointer.shape)


def elementwise(a: Arguments) -> Value:
    return combine(*a.given, *a.named.values()) if a.given or a.named else UNKNOWN


def math(a: Arguments) -> Value:
    """A function of one value computes on the device even where the value is a constant."""
    value = elementwise(a)
    return Value(Kind.TENSOR, value.shape, value.dtype)


def where(a: Arguments) -> Value:
    chosen = combine(a.value(1, "x"), a.value(2, "y"))
    whole = combine(a.value(0, "condition"), chosen)
    return Value(Kind.TENSOR, whole.shape, chosen.dtype)


def dot(a: Arguments) -> Value:
    left, right = a.value(0, "input"), a.value(1, "other")
    if left.shape is None or right.shape is None or len(left.shape) < 2 or len(left.shape) != len(right.shape):
        return Value(Kind.TENSOR, None, "float32")
    return Value(Kind.TENSOR, (*left.shape[:-1], right.shape[-1]), a.dtype(5, "out_dtype") or "float32")


def reduction(a: Arguments) -> Value:
    value = a.value(0, "input")
    if "return_indices" in a.named:
        return TUPLE
    axis = a.expression(1, "axis")
    keeps = "keep_dims" in a.named
    if value.shape is None or keeps:
        return Value(Kind.TENSOR, None, value.dtype)
    if axis is None or (isinstance(axis, ast.Constant) and axis.value is None):
        return Value(Kind.TENSOR, (), value.dtype)
    number = literal_int(axis)
    if number is None or not -len(value.shape) <= number < len(value.shape):
        return Value(Kind.TENSOR, None, value.dtype)
    number %= len(value.shape)
    return Value(Kind.TENSOR, value.shape[:number] + value.shape[number + 1 :], value.dtype)


def position(a: Arguments) -> Value:
    """argmax and argmin."""
    reduced = reduction(a)
    return Value(reduced.kind, reduced.shape, "int32")


def expand(a: Arguments) -> Value:
    value, axis = a.value(0, "input"), literal_int(a.expression(1, "axis"))
    if value.shape is None or axis is None:
        return Value(Kind.TENSOR, None, value.dtype)
    place = axis if axis >= 0 else len(value.shape) + 1 + axis
    return Value(value.kind, (*value.shape[:place], 1, *value.shape[place:]), value.dtype)


def reshaped(a: Arguments) -> Value:
    value = a.value(0, "input")
    return Value(Kind.TENSOR, shape_of(a.expression(1, "shape")), value.dtype)


def transposed(a: Arguments) -> Value:
    value = a.value(0, "input")
    plain = value.shape is not None and len(value.shape) == 2 and len(a.given) < 2 and not a.named
    return Value(Kind.TENSOR, value.shape[::-1] if plain and value.shape else None, value.dtype)


def block_pointer(a: Arguments) -> Value:
    return Value(Kind.UNKNOWN, shape_of(a.expression(4, "block_shape")))


def advance(a: Arguments) -> Value:
    return a.value(0, "base")


def kept(a: Arguments) -> Value:
    """A hint about a value that leaves it as it is."""
    return a.value(0, "input")


def literal_int(node: ast.expr | None) -> int | None:
    """The value of an integer written out, sign included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal_int(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


Operation = Callable[[Arguments], Value]
MATH = (
    "exp exp2 log log2 sqrt rsqrt sin cos erf sigmoid abs floor ceil tanh fma div_rn fdiv sqrt_rn "
    "maximum minimum clamp"
)
OPERATIONS: Mapping[str, Operation] = {
    **dict.fromkeys(MATH.split(), math),
    **dict.fromkeys(("sum", "max", "min", "xor_sum"), reduction),
    **dict.fromkeys(("argmax", "argmin"), position),
    **dict.fromkeys(("zeros", "full"), filled),
    **dict.fromkeys(("program_id", "num_programs"), lambda _: Value(Kind.TENSOR, (), "int32")),
    **dict.fromkeys(("multiple_of", "max_contiguous", "max_constancy"), kept),
    **dict.fromkeys(("cumsum", "cumprod", "flip", "sort", "softmax", "zeros_like"), same),
    **dict.fromkeys(("reshape", "view", "broadcast_to"), reshaped),
    **dict.fromkeys(("trans", "permute"), transposed),
    **dict.fromkeys(("atomic_add", "atomic_max", "atomic_min", "atomic_xchg", "atomic_cas"), load),
    **dict.fromkeys(("rand", "randn", "randint"), lambda a: Value(Kind.TENSOR, a.value(1, "offset").shape)),
    "arange": arange,
    "load": load,
    "where": where,
    "dot": dot,
    "cast": cast,
    "expand_dims": expand,
    "make_block_ptr": block_pointer,
    "advance": advance,
    "cdiv": elementwise,
    "constexpr": lambda _: STATIC,
}

METHODS = frozenset({"to", "cast", "sum", "max", "min", "argmax", "argmin", "reshape", "view", "trans", "abs"})
METHODS_KEEPING_SHAPE = frozenset({"exp", "log", "sqrt", "sigmoid", "cumsum", "cumprod", "sin", "cos"})


def method_value(base: Value, method: str, arguments: Arguments) -> Value:
    """`x.to(tl.float32)`, `x.sum(0)`: as the function with the tensor first."""
    if method in ("to", "cast"):
        return Value(base.kind, base.shape, arguments.dtype(0))
    if base.kind is not Kind.TENSOR:
        return UNKNOWN
    if method in METHODS_KEEPING_SHAPE:
        return base
    operation = OPERATIONS.get(method) if method in METHODS else None
    if operation is None:
        return UNKNOWN
    shifted = arguments.without_first()
    return operation(Arguments(shifted.node, [base, *arguments.given], shifted.named, shifted.imports))


def subscript_value(base: Value, index: ast.expr, parts: list[Value]) -> Value:
    """`x[:, None]` inserts an axis; any other index picks something we know nothing of."""
    if base.kind is Kind.TUPLE or base.shape is None:
        return TENSOR if base.kind is Kind.TENSOR else UNKNOWN
    shape: list[int | str | None] = []
    left = list(base.shape)
    for element in index.elts if isinstance(index, ast.Tuple) else [index]:
        if isinstance(element, ast.Constant) and element.value is None:
            shape.append(1)
        elif _is_whole_slice(element) and left:
            shape.append(left.pop(0))
        else:
            return Value(base.kind, None, base.dtype)
    return Value(base.kind, (*shape, *left), base.dtype)


def _is_whole_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None
