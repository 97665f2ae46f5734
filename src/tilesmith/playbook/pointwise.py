"""PyTorch's pointwise operators as Triton expressions.

Operands are names of variables or numbers, so an expression may use one as often as it likes. `tl.exp` and
`tl.log` are fast approximations: good where large arguments do not matter (softmax), else libdevice's are used,
which are what PyTorch itself computes with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilesmith.playbook.scalars import text
from tilesmith.playbook.symbols import Unmatched

_LARGEST_POWER = 8
NAN = "tl.PropagateNan.ALL"

Emit = Callable[..., str]


def call(name: str) -> Emit:
    return lambda *operands: f"{name}({', '.join(text(operand) for operand in operands)})"


def infix(symbol: str) -> Emit:
    return lambda a, b: f"{text(a)} {symbol} {text(b)}"


def _add(a: Any, b: Any, alpha: Any = 1) -> str:
    return f"{text(a)} + {text(b)}" if alpha == 1 else f"{text(a)} + {text(alpha)} * {text(b)}"


def _sub(a: Any, b: Any, alpha: Any = 1) -> str:
    return f"{text(a)} - {text(b)}" if alpha == 1 else f"{text(a)} - {text(alpha)} * {text(b)}"


def _rsub(a: Any, b: Any, alpha: Any = 1) -> str:
    return _sub(b, a, alpha)


def _div(a: Any, b: Any, rounding_mode: Any = None) -> str:
    if rounding_mode is not None:
        raise Unmatched(f"division rounded to {rounding_mode}")
    return f"{text(a)} / {text(b)}"


def _pow(a: Any, b: Any) -> str:
    if isinstance(a, str) and not isinstance(b, str):
        known: dict[float, str] = {2: f"{a} * {a}", 3: f"{a} * {a} * {a}", 4: f"({a} * {a}) * ({a} * {a})", 1: a}
        known |= {0.5: f"tl.sqrt_rn({a})", -0.5: f"tl.rsqrt({a})", -1: f"1.0 / {a}", -2: f"1.0 / ({a} * {a})"}
        if b in known:
            return known[b]
    a, b = (float(one) if type(one) is int else one for one in (a, b))
    return f"libdevice.pow({text(a)}, {text(b)})"


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
    inner = x if input_scale == 1 else f"{x} * {text(input_scale)}"
    negative = " * ".join(
        [*(text(factor) for factor in (scale, alpha) if factor != 1), f"libdevice.expm1({inner})"]
    )
    positive = x if scale == 1 else f"{x} * {text(scale)}"
    return f"tl.where({x} > 0, {positive}, {negative})"


def _selu(x: str) -> str:
    return _elu(x, 1.6732632423543772, 1.0507009873554805)


def _celu(x: str, alpha: Any = 1.0) -> str:
    return f"tl.where({x} > 0, {x}, {text(alpha)} * libdevice.expm1({x} / {text(alpha)}))"


def _softplus(x: str, beta: Any = 1.0, threshold: Any = 20.0) -> str:
    scaled = x if beta == 1 else f"{x} * {text(beta)}"
    soft = f"libdevice.log1p(libdevice.exp({scaled}))"
    return f"tl.where({scaled} > {text(threshold)}, {x}, {soft if beta == 1 else f'{soft} / {text(beta)}'})"


def _clamp(x: str, low: Any = None, high: Any = None) -> str:
    """The lower bound first, as PyTorch does; NaN stays NaN."""
    bounded = x if low is None else f"tl.maximum({x}, {text(low)}, {NAN})"
    return bounded if high is None else f"tl.minimum({bounded}, {text(high)}, {NAN})"


def _hardtanh(x: str, low: Any = -1.0, high: Any = 1.0) -> str:
    return _clamp(x, low, high)


def _leaky_relu(x: str, slope: Any = 0.01) -> str:
    return f"tl.where({x} > 0, {x}, {x} * {text(slope)})"


def _threshold(x: str, level: Any, value: Any) -> str:
    return f"tl.where({x} <= {text(level)}, {text(value)}, {x})"


def _hardshrink(x: str, lambd: Any = 0.5) -> str:
    return f"tl.where(tl.abs({x}) <= {text(lambd)}, 0.0, {x})"


def _softshrink(x: str, lambd: Any = 0.5) -> str:
    inner = f"tl.where({x} < -{text(lambd)}, {x} + {text(lambd)}, {x} * 0.0)"
    return f"tl.where({x} > {text(lambd)}, {x} - {text(lambd)}, {inner})"


def _addcmul(a: Any, b: Any, c: Any, value: Any = 1) -> str:
    return _add(a, f"{text(b)} * {text(c)}", value)


def _addcdiv(a: Any, b: Any, c: Any, value: Any = 1) -> str:
    return _add(a, f"({text(b)} / {text(c)})", value)


def _lerp(a: Any, b: Any, weight: Any) -> str:
    return f"{text(a)} + {text(weight)} * ({text(b)} - {text(a)})"


def _where(condition: str, a: Any, b: Any) -> str:
    return f"tl.where({condition}, {text(a)}, {text(b)})"


def _masked_fill(x: str, mask: str, value: Any) -> str:
    return f"tl.where({mask}, {text(value)}, {x})"


def _extreme(function: str) -> Emit:
    return lambda a, b: f"{function}({text(a)}, {text(b)}, {NAN})"


COMPARISONS: dict[str, Emit] = {
    "eq": infix("=="),
    "ne": infix("!="),
    "lt": infix("<"),
    "le": infix("<="),
    "gt": infix(">"),
    "ge": infix(">="),
}
LOGICAL: dict[str, Emit] = {
    "logical_and": infix("&"),
    "logical_or": infix("|"),
    "logical_xor": infix("^"),
    "logical_not": lambda x: f"~{x}",
    "bitwise_and": infix("&"),
    "bitwise_or": infix("|"),
    "bitwise_xor": infix("^"),
    "bitwise_not": lambda x: f"~{x}",
}
ARITHMETIC: dict[str, Emit] = {
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "mul": infix("*"),
    "div": _div,
    "true_divide": _div,
    "neg": lambda x: f"-{x}",
    "abs": call("tl.abs"),
    "square": lambda x: f"{x} * {x}",
    "reciprocal": lambda x: f"1.0 / {x}",
    "pow": _pow,
    "sqrt": call("tl.sqrt_rn"),
    "rsqrt": call("tl.rsqrt"),
    "exp": call("libdevice.exp"),
    "exp2": call("libdevice.exp2"),
    "expm1": call("libdevice.expm1"),
    "log": call("libdevice.log"),
    "log2": call("libdevice.log2"),
    "log10": call("libdevice.log10"),
    "log1p": call("libdevice.log1p"),
    "fast_exp": call("tl.exp"),
    "fast_log": call("tl.log"),
    "erf": call("tl.erf"),
    "erfc": call("libdevice.erfc"),
    "sin": call("libdevice.sin"),
    "cos": call("libdevice.cos"),
    "tan": call("libdevice.tan"),
    "asin": call("libdevice.asin"),
    "acos": call("libdevice.acos"),
    "atan": call("libdevice.atan"),
    "atan2": call("libdevice.atan2"),
    "sinh": call("libdevice.sinh"),
    "cosh": call("libdevice.cosh"),
    "tanh": call("libdevice.tanh"),
    "asinh": call("libdevice.asinh"),
    "acosh": call("libdevice.acosh"),
    "atanh": call("libdevice.atanh"),
    "floor": call("tl.floor"),
    "ceil": call("tl.ceil"),
    "round": call("libdevice.rint"),
    "trunc": call("libdevice.trunc"),
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
ACTIVATIONS: dict[str, Emit] = {
    "relu": lambda x: f"tl.where({x} < 0, 0, {x})",
    "relu6": lambda x: _clamp(x, 0.0, 6.0),
    "sigmoid": call("tl.sigmoid"),
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
POINTWISE: dict[str, Emit] = COMPARISONS | LOGICAL | ARITHMETIC | ACTIVATIONS
INTEGER_POINTWISE: dict[str, Emit] = {
    "pow": _integer_pow,
    "sign": lambda x: f"(({x} > 0).to({x}.dtype) - ({x} < 0).to({x}.dtype))",
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), _itself),
}
"""Operators that are something else on integers."""
