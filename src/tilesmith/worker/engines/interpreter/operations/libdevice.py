"""CUDA's libdevice through torch, in the precision of the operand.

Triton resolves overloads and hands over the symbol (`__nv_tanhf`), so only names are mapped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_faults import NotInterpretable
from tilesmith.worker.engines.interpreter.operations import number_formats
from tilesmith.worker.engines.interpreter.operations.handles import Handle

_special = torch.special

# The C name and torch's name are the same.
_SAME_NAME = """
acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc erfinv exp exp2 expm1 floor fmax fmin fmod
hypot ldexp lgamma log log10 log1p log2 nextafter pow rsqrt signbit sin sinh sqrt tan tanh trunc
"""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(torch, name) for name in _SAME_NAME.split()},
    "abs": torch.abs,
    "fabs": torch.abs,
    "llabs": torch.abs,
    "cbrt": lambda x: torch.copysign(torch.abs(x) ** (1.0 / 3.0), x),
    "rcbrt": lambda x: torch.copysign(torch.abs(x) ** (-1.0 / 3.0), x),
    "exp10": lambda x: torch.pow(torch.full_like(x, 10.0), x),
    "fma": lambda x, y, z: (x.double() * y.double() + z.double()).to(x.dtype),
    "fdim": lambda x, y: torch.clamp(x - y, min=0),
    "remainder": lambda x, y: x - torch.round(x / y) * y,
    "mod": torch.fmod,
    "div_rn": torch.div,
    "rcp_rn": torch.reciprocal,
    "sqrt_rn": torch.sqrt,
    "add_rn": torch.add,
    "mul_rn": torch.mul,
    "sub_rn": torch.sub,
    "saturate": lambda x: torch.clamp(torch.nan_to_num(x, nan=0.0), 0.0, 1.0),
    "rint": torch.round,
    "nearbyint": torch.round,
    "round": lambda x: torch.copysign(torch.floor(torch.abs(x) + 0.5), x),
    "llrint": lambda x: torch.round(x).long(),
    "llround": lambda x: torch.copysign(torch.floor(torch.abs(x) + 0.5), x).long(),
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "isfinited": torch.isfinite,
    "finite": torch.isfinite,
    "powi": lambda x, n: torch.pow(x, n.to(x.dtype)),
    "rhypot": lambda x, y: torch.rsqrt(x * x + y * y),
    "norm3d": lambda x, y, z: torch.sqrt(x * x + y * y + z * z),
    "rnorm3d": lambda x, y, z: torch.rsqrt(x * x + y * y + z * z),
    "sinpi": lambda x: torch.sin(x.double() * torch.pi).to(x.dtype),
    "cospi": lambda x: torch.cos(x.double() * torch.pi).to(x.dtype),
    "tgamma": lambda x: _gamma(x.double()).to(x.dtype),
    "normcdf": _special.ndtr,
    "normcdfinv": _special.ndtri,
    "erfcx": _special.erfcx,
    "erfcinv": lambda x: torch.erfinv(1.0 - x),
    "j0": _special.bessel_j0,
    "j1": _special.bessel_j1,
    "y0": _special.bessel_y0,
    "y1": _special.bessel_y1,
    "cyl_bessel_i0": torch.i0,
    "cyl_bessel_i1": _special.i1,
    "ffs": lambda x: _per_item(x, lambda n: (n & -n).bit_length()),
    "popc": lambda x: _per_item(x, lambda n: n.bit_count()),
    "clz": lambda x: _per_item(x, lambda n: x.element_size() * 8 - n.bit_length()),
    "min": torch.minimum,
    "max": torch.maximum,
}
_FAST_PREFIX = "fast_"


def call(symbol: str, arguments: list[Any], result_type: Any) -> Handle:
    """Apply a libdevice symbol to handles."""
    function = _lookup(symbol)
    if function is None:
        raise NotInterpretable(f"libdevice function {symbol} is not interpreted", state.current_location())
    operands = [torch.from_numpy(np.array(handle.data)) for handle in arguments]
    dtype = number_formats.numpy_dtype(result_type)
    return Handle(function(*operands).numpy().astype(dtype, copy=False), result_type.scalar)


def _lookup(symbol: str) -> Callable[..., Any] | None:
    """`__nv_fast_expf`, `__nv_tanhf`, `__nv_popcll` and the like, by their plain name."""
    name = symbol.removeprefix("__nv_").removeprefix(_FAST_PREFIX)
    # float32 has an `f` behind the name or before its rounding suffix, long long has `ll`.
    spellings: tuple[str, ...] = (name, name.removesuffix("f"), name.removesuffix("ll"), name.replace("f_r", "_r"))
    spellings += (name.replace("df", "f"), name.removeprefix("f"), name.removeprefix("d"))
    return next((_FUNCTIONS[spelling] for spelling in spellings if spelling in _FUNCTIONS), None)


def _gamma(x: Any) -> Any:
    reflected = torch.pi / (torch.sin(torch.pi * x) * torch.exp(torch.lgamma(1 - x)))
    return torch.where(x > 0, torch.exp(torch.lgamma(x)), reflected)


def _per_item(x: Any, function: Callable[[int], int]) -> Any:
    modulus = 1 << (8 * x.element_size())
    counts = [function(int(n) % modulus) for n in x.reshape(-1)]
    return torch.tensor(counts, dtype=torch.int32).reshape(x.shape)
