"""What the functions, methods and brackets of `triton.language` make of their arguments, as far as shapes go."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from tilesmith.lint.model.device.values import (
    STATIC,
    TENSOR,
    TUPLE,
    UNKNOWN,
    DeviceValue,
    Shape,
    ValueKind,
    combine,
    dimension,
)
from tilesmith.lint.model.syntax.call_arguments import keyword

INFINITE = {"inf": inf, "-inf": -inf, "+inf": inf, "infinity": inf, "-infinity": -inf}


@dataclass(frozen=True)
class CallArguments:
    """The arguments of one call: their syntax and what is known of them."""

    node: ast.Call
    given: list[DeviceValue]
    named: Mapping[str, DeviceValue]
    imports: Mapping[ast.AST, str]

    def value(self, position: int, name: str) -> DeviceValue:
        if position < len(self.given):
            return self.given[position]
        return self.named.get(name, UNKNOWN)

    def expression(self, position: int, name: str) -> ast.expr | None:
        if position < len(self.node.args):
            return self.node.args[position]
        return keyword(self.node, name)

    def without_first(self) -> CallArguments:
        """As a method sees them: the tensor itself stands before."""
        filler = ast.Constant(None)
        shifted = ast.Call(self.node.func, [filler, *self.node.args], self.node.keywords)
        return CallArguments(shifted, [UNKNOWN, *self.given], self.named, self.imports)

    def dtype(self, position: int, name: str = "dtype") -> str:
        expression = self.expression(position, name)
        return "" if expression is None else self.imports.get(expression, "").removeprefix("triton.language.")


def arange(a: CallArguments) -> DeviceValue:
    start, end = a.expression(0, "start"), a.expression(1, "end")
    from_zero = isinstance(start, ast.Constant) and start.value == 0
    if from_zero:
        return DeviceValue(ValueKind.TENSOR, (dimension(end),), "int32")
    low, high = literal_int(start), literal_int(end)
    span = None if low is None or high is None else high - low
    return DeviceValue(ValueKind.TENSOR, (span,), "int32")


def filled(a: CallArguments) -> DeviceValue:
    shape = shape_of(a.expression(0, "shape"))
    full = len(a.given) > 2 or "value" in a.named
    return DeviceValue(ValueKind.TENSOR, shape, a.dtype(2) if full else a.dtype(1))


def shape_of(expression: ast.expr | None) -> Shape:
    """`(M, N)` or `[M, N]` as written; anything else is unknown."""
    if isinstance(expression, (ast.Tuple, ast.List)):
        return tuple(dimension(part) for part in expression.elts)
    return None


def same(a: CallArguments) -> DeviceValue:
    value = widened(a.value(0, "input"))
    return DeviceValue(ValueKind.TENSOR, value.shape, "" if "dtype" in a.named else a.dtype(1) or value.dtype)


def cast(a: CallArguments) -> DeviceValue:
    value = a.value(0, "input")
    return DeviceValue(value.kind, value.shape, a.dtype(1))


def load(a: CallArguments) -> DeviceValue:
    pointer = a.value(0, "pointer")
    return DeviceValue(ValueKind.TENSOR, pointer.shape)


def elementwise(a: CallArguments) -> DeviceValue:
    return combine(*a.given, *a.named.values()) if a.given or a.named else UNKNOWN


def math(a: CallArguments) -> DeviceValue:
    """A function of one value computes on the device even where the value is a constant."""
    value = elementwise(a)
    return DeviceValue(ValueKind.TENSOR, value.shape, value.dtype)


def where(a: CallArguments) -> DeviceValue:
    chosen = combine(a.value(1, "x"), a.value(2, "y"))
    whole = combine(a.value(0, "condition"), chosen)
    return DeviceValue(
        ValueKind.TENSOR, whole.shape, beside_constants(chosen, a.value(1, "x"), a.value(2, "y")).dtype
    )


def dot(a: CallArguments) -> DeviceValue:
    left, right = a.value(0, "input"), a.value(1, "other")
    dtype = a.dtype(5, "out_dtype") or ("int32" if "int8" in (left.dtype, right.dtype) else "float32")
    if left.shape is None or right.shape is None or len(left.shape) < 2 or len(left.shape) != len(right.shape):
        return DeviceValue(ValueKind.TENSOR, None, dtype)
    return DeviceValue(ValueKind.TENSOR, (*left.shape[:-1], right.shape[-1]), dtype)


def reduction(a: CallArguments) -> DeviceValue:
    value = widened(a.value(0, "input"))
    value = DeviceValue(value.kind, value.shape) if "dtype" in a.named else value
    if "return_indices" in a.named or len(a.given) > 2:
        return TUPLE
    axis = a.expression(1, "axis")
    keeps = "keep_dims" in a.named
    if value.shape is None or keeps:
        return DeviceValue(ValueKind.TENSOR, None, value.dtype)
    if axis is None or (isinstance(axis, ast.Constant) and axis.value is None):
        return DeviceValue(ValueKind.TENSOR, (), value.dtype)
    number = literal_int(axis)
    if number is None or not -len(value.shape) <= number < len(value.shape):
        return DeviceValue(ValueKind.TENSOR, None, value.dtype)
    number %= len(value.shape)
    return DeviceValue(ValueKind.TENSOR, value.shape[:number] + value.shape[number + 1 :], value.dtype)


def widened(value: DeviceValue) -> DeviceValue:
    """Reductions and extremes widen some short types, not the same ones in every release."""
    return value if value.dtype in WIDE else DeviceValue(value.kind, value.shape, "")


def beside_constants(value: DeviceValue, *operands: DeviceValue) -> DeviceValue:
    """Whole numbers beside a constant, which may be a fraction, can be of another type."""
    constant = any(operand.kind is ValueKind.STATIC for operand in operands)
    return DeviceValue(value.kind, value.shape) if constant and value.dtype.startswith(("int", "uint")) else value


def extreme(a: CallArguments) -> DeviceValue:
    return beside_constants(widened(math(a)), *a.given, *a.named.values())


def position(a: CallArguments) -> DeviceValue:
    """argmax and argmin."""
    reduced = reduction(a)
    return DeviceValue(reduced.kind, reduced.shape, "int32")


def expand(a: CallArguments) -> DeviceValue:
    value, axis = a.value(0, "input"), literal_int(a.expression(1, "axis"))
    if value.shape is None or axis is None:
        return DeviceValue(ValueKind.TENSOR, None, value.dtype)
    place = axis if axis >= 0 else len(value.shape) + 1 + axis
    return DeviceValue(value.kind, (*value.shape[:place], 1, *value.shape[place:]), value.dtype)


def reshaped(a: CallArguments) -> DeviceValue:
    value = a.value(0, "input")
    return DeviceValue(ValueKind.TENSOR, shape_of(a.expression(1, "shape")), value.dtype)


def transposed(a: CallArguments) -> DeviceValue:
    value = a.value(0, "input")
    plain = value.shape is not None and len(value.shape) == 2 and len(a.given) < 2 and not a.named
    return DeviceValue(ValueKind.TENSOR, value.shape[::-1] if plain and value.shape else None, value.dtype)


def block_pointer(a: CallArguments) -> DeviceValue:
    return DeviceValue(ValueKind.UNKNOWN, shape_of(a.expression(4, "block_shape")))


def advance(a: CallArguments) -> DeviceValue:
    return a.value(0, "base")


def kept(a: CallArguments) -> DeviceValue:
    """A hint about a value that leaves it as it is."""
    return a.value(0, "input")


def literal(node: ast.AST | None) -> float | None:
    """The value of a number written out; None for anything else."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub()):
            inner = literal(node.operand)
            return None if inner is None else -inner
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as word)]):
            return INFINITE.get(word.strip().lower())
        case ast.Attribute(attr="inf"):
            return inf
    return None


def literal_int(node: ast.expr | None) -> int | None:
    """The value of an integer written out, sign included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal_int(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


BinaryOperation = Callable[[CallArguments], DeviceValue]
MATH = "exp exp2 log log2 sqrt rsqrt sin cos erf sigmoid abs floor ceil tanh fma div_rn fdiv sqrt_rn"
WIDE = frozenset({"float32", "float64", "int32", "int64"})
OPERATIONS: Mapping[str, BinaryOperation] = {
    **dict.fromkeys(MATH.split(), math),
    **dict.fromkeys(("maximum", "minimum", "clamp"), extreme),
    **dict.fromkeys(("sum", "max", "min", "xor_sum"), reduction),
    **dict.fromkeys(("argmax", "argmin"), position),
    **dict.fromkeys(("zeros", "full"), filled),
    **dict.fromkeys(("program_id", "num_programs"), lambda _: DeviceValue(ValueKind.TENSOR, (), "int32")),
    **dict.fromkeys(("multiple_of", "max_contiguous", "max_constancy"), kept),
    **dict.fromkeys(("cumsum", "cumprod", "flip", "sort", "softmax", "zeros_like"), same),
    **dict.fromkeys(("reshape", "view", "broadcast_to"), reshaped),
    **dict.fromkeys(("trans", "permute"), transposed),
    **dict.fromkeys(("atomic_add", "atomic_max", "atomic_min", "atomic_xchg", "atomic_cas"), load),
    **dict.fromkeys(
        ("rand", "randn", "randint"), lambda a: DeviceValue(ValueKind.TENSOR, a.value(1, "offset").shape)
    ),
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


def method_value(base: DeviceValue, method: str, arguments: CallArguments) -> DeviceValue:
    """`x.to(tl.float32)`, `x.sum(0)`: as the function with the tensor first."""
    if method in ("to", "cast"):
        return DeviceValue(base.kind, base.shape, arguments.dtype(0))
    if base.kind is not ValueKind.TENSOR:
        return UNKNOWN
    if method in METHODS_KEEPING_SHAPE:
        return base
    operation = OPERATIONS.get(method) if method in METHODS else None
    if operation is None:
        return UNKNOWN
    shifted = arguments.without_first()
    return operation(CallArguments(shifted.node, [base, *arguments.given], shifted.named, shifted.imports))


def attribute_value(base: DeviceValue, name: str) -> DeviceValue:
    """`x.T` is a tensor; what describes one is known to the compiler."""
    if name == "T" and base.kind is ValueKind.TENSOR:
        return DeviceValue(ValueKind.TENSOR, None if base.shape is None else base.shape[::-1], base.dtype)
    return STATIC if name in ("dtype", "shape", "element_ty", "type", "value") else UNKNOWN


def subscript_value(base: DeviceValue, index: ast.expr) -> DeviceValue:
    """`x[:, None]` inserts an axis; any other index picks something we know nothing of."""
    if base.kind is ValueKind.TUPLE or base.shape is None:
        return TENSOR if base.kind is ValueKind.TENSOR else UNKNOWN
    shape: list[int | str | None] = []
    left = list(base.shape)
    for element in index.elts if isinstance(index, ast.Tuple) else [index]:
        if isinstance(element, ast.Constant) and element.value is None:
            shape.append(1)
        elif _is_whole_slice(element) and left:
            shape.append(left.pop(0))
        else:
            return DeviceValue(base.kind, None, base.dtype)
    return DeviceValue(base.kind, (*shape, *left), base.dtype)


def _is_whole_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None
