"""PyTorch's pointwise operators as Triton expressions.

Operands are names of variables or numbers, so an expression may use one as often as it likes. `tl.exp` is a fast
approximation: good where large arguments do not matter (softmax), else libdevice's is used, which is what PyTorch
itself computes with; as is whatever Triton's language does not have. Its other functions are libdevice's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilesmith.playbook.graph.operators import POINTWISE
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.operands import to_source

_LARGEST_POWER = 8
NAN = "tl.PropagateNan.ALL"

Emit = Callable[..., str]


def _call(name: str) -> Emit:
    return lambda *operands: f"{name}({', '.join(to_source(operand) for operand in operands)})"


def _infix(symbol: str) -> Emit:
    return lambda a, b: f"{to_source(a)} {symbol} {to_source(b)}"


def _add(a: Any, b: Any, alpha: Any = 1) -> str:
    factor = "" if alpha == 1 else f"{to_source(alpha)} * "
    return f"{to_source(a)} + {factor}{to_source(b)}"


def _sub(a: Any, b: Any, alpha: Any = 1) -> str:
    factor = "" if alpha == 1 else f"{to_source(alpha)} * "
    return f"{to_source(a)} - {factor}{to_source(b)}"


def _rsub(a: Any, b: Any, alpha: Any = 1) -> str:
    return _sub(b, a, alpha)


def _pow(a: Any, b: Any) -> str:
    if isinstance(a, str) and not isinstance(b, str):
        known: dict[float, str] = {2: f"{a} * {a}", 3: f"{a} * {a} * {a}", 4: f"({a} * {a}) * ({a} * {a})", 1: a}
        known |= {0.5: f"tl.sqrt_rn({a})", -0.5: f"tl.rsqrt({a})", -1: f"1.0 / {a}", -2: f"1.0 / ({a} * {a})"}
        if b in known:
            return known[b]
    a, b = (float(one) if type(one) is int else one for one in (a, b))
    return f"libdevice.pow({to_source(a)}, {to_source(b)})"


def _itself(x: str) -> str:
    return x


def _integer_pow(a: Any, b: Any) -> str:
    if not isinstance(a, str) or type(b) is not int or not 1 <= b <= _LARGEST_POWER:
        raise Unmatched("raises integers to a power that is no small constant")
    return " * ".join([a] * b)


def _gelu(x: str, approximate: str = "none") -> str:
    if approximate == "tanh":
        return f"0.5 * {x} * (1.0 + libdevice.tanh(0.7978845608028654 * ({x} + 0.044715 * {x} * {x} * {x})))"
    return f"0.5 * {x} * (1.0 + tl.erf({x} * 0.7071067811865476))"


def _elu(x: str, alpha: Any = 1.0, scale: Any = 1.0, input_scale: Any = 1.0) -> str:
    inner = x if input_scale == 1 else f"{x} * {to_source(input_scale)}"
    negative = " * ".join(
        [*(to_source(factor) for factor in (scale, alpha) if factor != 1), f"libdevice.expm1({inner})"]
    )
    positive = x if scale == 1 else f"{x} * {to_source(scale)}"
    return f"tl.where({x} > 0, {positive}, {negative})"


def _selu(x: str) -> str:
    return _elu(x, 1.6732632423543772, 1.0507009873554805)


def _celu(x: str, alpha: Any = 1.0) -> str:
    return f"tl.where({x} > 0, {x}, {to_source(alpha)} * libdevice.expm1({x} / {to_source(alpha)}))"


def _softplus(x: str, beta: Any = 1.0, threshold: Any = 20.0) -> str:
    scaled = x if beta == 1 else f"{x} * {to_source(beta)}"
    soft = f"libdevice.log1p(libdevice.exp({scaled}))"
    soft = soft if beta == 1 else f"{soft} / {to_source(beta)}"
    return f"tl.where({scaled} > {to_source(threshold)}, {x}, {soft})"


def _clamp(x: str, low: Any = None, high: Any = None) -> str:
    """The lower bound first, as PyTorch does; NaN stays NaN."""
    bounded = x if low is None else f"tl.maximum({x}, {to_source(low)}, {NAN})"
    return bounded if high is None else f"tl.minimum({bounded}, {to_source(high)}, {NAN})"


def _hardtanh(x: str, low: Any = -1.0, high: Any = 1.0) -> str:
    return _clamp(x, low, high)


def _leaky_relu(x: str, slope: Any = 0.01) -> str:
    return f"tl.where({x} > 0, {x}, {x} * {to_source(slope)})"


def _threshold(x: str, level: Any, value: Any) -> str:
    return f"tl.where({x} <= {to_source(level)}, {to_source(value)}, {x})"


def _hardshrink(x: str, lambd: Any = 0.5) -> str:
    return f"tl.where(tl.abs({x}) <= {to_source(lambd)}, 0.0, {x})"


def _softshrink(x: str, lambd: Any = 0.5) -> str:
    inner = f"tl.where({x} < -{to_source(lambd)}, {x} + {to_source(lambd)}, {x} * 0.0)"
    return f"tl.where({x} > {to_source(lambd)}, {x} - {to_source(lambd)}, {inner})"


def _addcmul(a: Any, b: Any, c: Any, value: Any = 1) -> str:
    return _add(a, f"{to_source(b)} * {to_source(c)}", value)


def _addcdiv(a: Any, b: Any, c: Any, value: Any = 1) -> str:
    return _add(a, f"({to_source(b)} / {to_source(c)})", value)


def _lerp(a: Any, b: Any, weight: Any) -> str:
    return f"{to_source(a)} + {to_source(weight)} * ({to_source(b)} - {to_source(a)})"


def _where(condition: str, a: Any, b: Any) -> str:
    return f"tl.where({condition}, {to_source(a)}, {to_source(b)})"


def _masked_fill(x: str, mask: str, value: Any) -> str:
    return f"tl.where({mask}, {to_source(value)}, {x})"


def _extreme(function: str) -> Emit:
    return lambda a, b: f"{function}({to_source(a)}, {to_source(b)}, {NAN})"


_COMPARISONS: dict[str, Emit] = {
    "eq": _infix("=="),
    "ne": _infix("!="),
    "lt": _infix("<"),
    "le": _infix("<="),
    "gt": _infix(">"),
    "ge": _infix(">="),
}
_LOGICAL: dict[str, Emit] = {
    "logical_and": _infix("&"),
    "logical_or": _infix("|"),
    "logical_xor": _infix("^"),
    "logical_not": lambda x: f"~{x}",
    "bitwise_and": _infix("&"),
    "bitwise_or": _infix("|"),
    "bitwise_xor": _infix("^"),
    "bitwise_right_shift": _infix(">>"),
    "bitwise_left_shift": _infix("<<"),
    "bitwise_not": lambda x: f"~{x}",
}
_ARITHMETIC: dict[str, Emit] = {
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "mul": _infix("*"),
    "div": _infix("/"),
    "true_divide": _infix("/"),
    "fmod": lambda a, b: _call("libdevice.fmod")(*(float(one) if type(one) is int else one for one in (a, b))),
    "trunc_divide": lambda a, b: f"libdevice.trunc({to_source(a)} / {to_source(b)})",
    "neg": lambda x: f"-{x}",
    "abs": _call("tl.abs"),
    "square": lambda x: f"{x} * {x}",
    "reciprocal": lambda x: f"1.0 / {x}",
    "pow": _pow,
    "sqrt": _call("tl.sqrt_rn"),
    "rsqrt": _call("tl.rsqrt"),
    "exp": _call("libdevice.exp"),
    "exp2": _call("tl.exp2"),
    "expm1": _call("libdevice.expm1"),
    "log": _call("tl.log"),
    "log2": _call("tl.log2"),
    "log10": _call("libdevice.log10"),
    "log1p": _call("libdevice.log1p"),
    "fast_exp": _call("tl.exp"),
    "fast_log": _call("tl.log"),
    "erf": _call("tl.erf"),
    "erfc": _call("libdevice.erfc"),
    "sin": _call("tl.sin"),
    "cos": _call("tl.cos"),
    "tan": _call("libdevice.tan"),
    "asin": _call("libdevice.asin"),
    "acos": _call("libdevice.acos"),
    "atan": _call("libdevice.atan"),
    "atan2": _call("libdevice.atan2"),
    "sinh": _call("libdevice.sinh"),
    "cosh": _call("libdevice.cosh"),
    "tanh": _call("libdevice.tanh"),
    "asinh": _call("libdevice.asinh"),
    "acosh": _call("libdevice.acosh"),
    "atanh": _call("libdevice.atanh"),
    "floor": _call("tl.floor"),
    "ceil": _call("tl.ceil"),
    "round": _call("libdevice.rint"),
    "trunc": _call("libdevice.trunc"),
    "sign": lambda x: f"tl.where({x} > 0, 1.0, tl.where({x} < 0, -1.0, 0.0))",
    "maximum": _extreme("tl.maximum"),
    "minimum": _extreme("tl.minimum"),
    "clamp": _clamp,
    "clamp_min": lambda x, low: _clamp(x, low),
    "clamp_max": lambda x, high: _clamp(x, None, high),
    "finite_or_zero": lambda x: f'tl.where(tl.abs({x}) < float("inf"), {x}, 0.0)',
    "where": _where,
    "masked_fill": _masked_fill,
    "addcmul": _addcmul,
    "addcdiv": _addcdiv,
    "lerp": _lerp,
}
_ACTIVATIONS: dict[str, Emit] = {
    "relu": lambda x: f"tl.where({x} < 0, 0, {x})",
    "relu6": lambda x: _clamp(x, 0.0, 6.0),
    "sigmoid": _call("tl.sigmoid"),
    "silu": lambda x: f"{x} * tl.sigmoid({x})",
    "log_sigmoid": lambda x: f"tl.where({x} < 0, {x}, 0.0) - libdevice.log1p(libdevice.exp(-tl.abs({x})))",
    "gelu": _gelu,
    "mish": lambda x: f"{x} * libdevice.tanh({_softplus(x)})",
    "softplus": _softplus,
    "elu": _elu,
    "selu": _selu,
    "celu": _celu,
    "leaky_relu": _leaky_relu,
    "hardtanh": _hardtanh,
    "hardsigmoid": lambda x: f"{_clamp(f'({x} + 3.0)', 0.0, 6.0)} / 6.0",
    "hardswish": lambda x: f"{x} * {_clamp(f'({x} + 3.0)', 0.0, 6.0)} / 6.0",
    "threshold": _threshold,
    "hardshrink": _hardshrink,
    "softshrink": _softshrink,
}
POINTWISE_SOURCE: dict[str, Emit] = _COMPARISONS | _LOGICAL | _ARITHMETIC | _ACTIVATIONS
assert POINTWISE_SOURCE.keys() == POINTWISE
INTEGER_SOURCE: dict[str, Emit] = {
    "pow": _integer_pow,
    "fmod": _infix("%"),
    "trunc_divide": _infix("//"),
    "sign": lambda x: f"(({x} > 0).to({x}.dtype) - ({x} < 0).to({x}.dtype))",
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), _itself),
}
"""Operators that are something else on integers."""
