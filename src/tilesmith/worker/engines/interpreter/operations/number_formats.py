"""How numbers are held in numpy, and rounded as the GPU rounds them.

Triton's interpreter keeps bfloat16 as bare 16-bit integers and then adds those; ml_dtypes
gives numpy real bfloat16 and float8 arrays instead.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton.language as tl

_BY_NAME: dict[str, Any] = {
    "int1": np.dtype(bool),
    **{f"{u}int{n}": np.dtype(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
    "fp16": np.dtype(np.float16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "fp8e5b16": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "fp8e4b8": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "fp8e4b15": np.dtype(np.uint8),
}
_ADDRESS = np.dtype(np.uint64)
BFLOAT16 = _BY_NAME["bf16"]
_FLOAT8 = frozenset(_BY_NAME[name] for name in ("fp8e5", "fp8e4nv", "fp8e5b16", "fp8e4b8"))
_NARROW_FLOATS = _FLOAT8 | {BFLOAT16, _BY_NAME["fp16"]}
_TF32_BITS = np.uint32(0xFFFFE000)
# Patterns no kernel expects. Integers become 0x5555..., which is large, odd and positive; floats a NaN
# whose payload survives widening, so that a maximum, which drops other NaNs, can let it through.
_POISON_BYTE = 0x55
_POISON_BITS = {
    _BY_NAME["fp64"]: 0x7FFAA00000000000,
    _BY_NAME["fp32"]: 0x7FD50000,
    _BY_NAME["fp16"]: 0x7EA8,
    BFLOAT16: 0x7FD5,
}


def numpy_dtype(triton_type: Any) -> Any:
    """The array type that holds a Triton type; pointers are addresses."""
    scalar = triton_type.scalar
    return _ADDRESS if isinstance(scalar, tl.pointer_type) else _BY_NAME[scalar.name]


def is_float8(dtype: Any) -> bool:
    """Whether the array type is one of the 8-bit floats."""
    return dtype in _FLOAT8


def is_narrow_float(dtype: Any) -> bool:
    """Whether the array type is a float of 16 bits or fewer, whose sums round at every step."""
    return dtype in _NARROW_FLOATS


def convert(data: Any, dtype: Any, toward_zero: bool = False) -> Any:
    """A cast as the GPU does it: to nearest even, and 8-bit floats saturate instead of overflowing."""
    if data.dtype == dtype:
        return data
    if dtype in _FLOAT8:
        limit = float(ml_dtypes.finfo(dtype).max)
        data = np.clip(data.astype(np.float32), -limit, limit)
    result = data.astype(dtype)
    return _step_toward_zero(data, result) if toward_zero else result


def _step_toward_zero(exact: Any, rounded: Any) -> Any:
    too_far = np.abs(rounded.astype(np.float64)) > np.abs(exact.astype(np.float64))
    bits = rounded.view(f"u{rounded.dtype.itemsize}")
    return (bits - too_far.astype(bits.dtype)).view(rounded.dtype)


def truncate_to_tf32(data: Any) -> Any:
    """What a tensor core sees of a float32 operand: the low 13 bits are ignored."""
    return (np.ascontiguousarray(data).view(np.uint32) & _TF32_BITS).view(np.float32)


def round_to_tf32(data: Any) -> Any:
    """`cvt.rna.tf32.f32`: to nearest, ties away from zero; inf and NaN stay."""
    bits = np.ascontiguousarray(data, dtype=np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & _TF32_BITS).view(np.float32)
    return np.where(np.isfinite(data), rounded, data).astype(np.float32)


def poison(dtype: Any) -> Any:
    """The value of a lane that was masked off without `other`: undefined, so make it show."""
    if dtype == np.bool_:
        return np.array(True)
    if np.issubdtype(dtype, np.integer):
        return np.full(dtype.itemsize, _POISON_BYTE, np.uint8).view(dtype)[0]
    if dtype in _POISON_BITS:
        return np.array(_POISON_BITS[dtype], f"u{dtype.itemsize}").view(dtype)[()]
    return np.array(float("nan")).astype(dtype)[()]


def is_poison(data: Any) -> Any:
    """Which elements are the NaN of a lane that was masked off, of either sign."""
    if data.dtype not in _POISON_BITS:
        return np.zeros(data.shape, np.bool_)
    bits = np.ascontiguousarray(data).view(f"u{data.dtype.itemsize}")
    return (bits & bits.dtype.type(2 ** (8 * data.dtype.itemsize - 1) - 1)) == _POISON_BITS[data.dtype]
