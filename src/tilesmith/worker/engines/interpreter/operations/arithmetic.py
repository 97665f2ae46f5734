"""Casts, arithmetic and shape operations on handles.

Overrides what Triton's builder gets wrong (bfloat16, float8, fused multiply-add, shifts that
modify their operand), what it does slowly, and whatever would lose a pointer's origin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton.language as tl

from tilesmith.worker.compat.interpreter_names import (
    NAN_LOSES,
    ROUND_TOWARD_ZERO,
    TF32_INPUTS,
    InterpreterBuilder,
)
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_faults import NotInterpretable
from tilesmith.worker.engines.interpreter.operations import number_formats
from tilesmith.worker.engines.interpreter.operations.handles import Handle

_ARITHMETIC = (np.add, np.subtract, np.multiply)


class Arithmetic(InterpreterBuilder):
    """The parts of the builder that compute."""

    emulate_tf32 = True

    def get_bf16(self, value: float) -> Handle:
        """A constant."""
        return Handle(np.array([value], dtype=number_formats.BFLOAT16), tl.bfloat16)

    def cast_impl(self, src: Any, dst_type: Any) -> Handle:
        """Every numeric cast."""
        return self.create_fp_to_fp(src, dst_type, None)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding_mode: Any) -> Handle:
        """A cast with a rounding mode; to nearest even unless told otherwise."""
        scalar = dst_type.scalar
        if "fp8e4b15" in (scalar.name, src.dtype.scalar.name):
            raise NotInterpretable("the float8e4b15 format is not interpreted", state.current_location())
        toward_zero = rounding_mode == ROUND_TOWARD_ZERO
        return Handle(number_formats.convert(src.data, number_formats.numpy_dtype(scalar), toward_zero), scalar)

    def create_bitcast(self, src: Any, dst_type: Any) -> Handle:
        """The same bits as another type; pointers keep their origin."""
        data = src.data.view(number_formats.numpy_dtype(dst_type))
        return Handle(data, dst_type.scalar, origin=src.origin)

    create_int_to_ptr = create_bitcast
    create_ptr_to_int = create_bitcast

    def binary_op(self, lhs: Any, rhs: Any, op: Any) -> Handle:
        """int1 wraps as a one-bit integer; every other result keeps the width of its operand."""
        left, right = lhs.data, rhs.data
        if op in _ARITHMETIC and left.dtype == np.bool_:
            output = (op(left.astype(np.int8), right.astype(np.int8)) & 1).astype(np.bool_)
        else:
            output = op(left, right)
            if output.dtype != left.dtype and output.dtype != np.bool_:
                output = output.astype(left.dtype)
        return Handle(output, lhs.dtype.scalar)

    def unary_op(self, arg: Any, op: Any) -> Handle:
        """An elementwise function in the precision of its operand."""
        output = op(arg.data)
        return Handle(output.astype(arg.data.dtype, copy=False), arg.dtype.scalar)

    def create_ashr(self, lhs: Any, rhs: Any) -> Handle:
        """An arithmetic shift, without changing the type of the operand itself."""
        signed = lhs.data.view(f"i{lhs.data.dtype.itemsize}")
        shifted = np.right_shift(signed, rhs.data.view(f"i{rhs.data.dtype.itemsize}"))
        return Handle(shifted.view(lhs.data.dtype), lhs.dtype.scalar)

    def create_idiv(self, lhs: Any, rhs: Any) -> Handle:
        """C division: towards zero; by zero is undefined on the GPU, zero here."""
        quotient = (lhs.data - np.fmod(lhs.data, rhs.data)) // rhs.data
        return Handle(quotient.astype(lhs.data.dtype, copy=False), lhs.dtype.scalar)

    def create_clampf(self, arg: Any, lo: Any, hi: Any, propagate_nans: Any) -> Handle:
        """tl.clamp."""
        if propagate_nans == NAN_LOSES:
            return self.create_minnumf(self.create_maxnumf(arg, lo), hi)
        return self.binary_op(self.binary_op(arg, lo, np.maximum), hi, np.minimum)

    def create_minnumf(self, lhs: Any, rhs: Any) -> Handle:
        """The smaller one; a NaN loses, unless it stands for an undefined lane."""
        return self._number_first(lhs, rhs, np.fmin)

    def create_maxnumf(self, lhs: Any, rhs: Any) -> Handle:
        """The larger one; a NaN loses, unless it stands for an undefined lane."""
        return self._number_first(lhs, rhs, np.fmax)

    def _number_first(self, lhs: Any, rhs: Any, op: Any) -> Handle:
        result = self.binary_op(lhs, rhs, op)
        for operand in (lhs.data, rhs.data):
            poisoned = number_formats.is_poison(operand)
            if poisoned.any():
                result.data = np.where(poisoned, operand, result.data)
        return result

    def create_fneg(self, arg: Any) -> Handle:
        """Negation."""
        return self.unary_op(arg, np.negative)

    def create_fma(self, x: Any, y: Any, z: Any) -> Handle:
        """Multiply and add with one rounding (through float64 for the narrower types)."""
        exact = np.multiply(x.data.astype(np.float64), y.data.astype(np.float64)) + z.data
        return Handle(exact.astype(z.data.dtype), z.dtype.scalar)

    def create_erf(self, arg: Any) -> Handle:
        """The error function, which numpy lacks."""
        values = torch.erf(torch.from_numpy(np.array(arg.data)))
        return Handle(values.numpy(), arg.dtype.scalar)

    def create_select(self, cond: Any, lhs: Any, rhs: Any) -> Handle:
        """tl.where; a choice between pointers into one tensor stays in that tensor."""
        origin = lhs.origin if lhs.origin is rhs.origin else None
        return Handle(np.where(cond.data, lhs.data, rhs.data), rhs.dtype.scalar, origin=origin)

    def create_dot(self, a: Any, b: Any, d: Any, input_precision: Any, max_num_imprecise_acc: Any) -> Handle:
        """A matrix product accumulated in the type of the accumulator, at least float32."""
        left, right = a.data, b.data
        if left.dtype == np.float32 and self.emulate_tf32 and input_precision == TF32_INPUTS:
            left, right = number_formats.truncate_to_tf32(left), number_formats.truncate_to_tf32(right)
        exact = np.issubdtype(left.dtype, np.integer) or left.dtype == np.float64
        compute = np.float64 if exact else np.float32
        product = np.matmul(left.astype(compute), right.astype(compute))
        result = product.astype(d.data.dtype) if np.issubdtype(d.data.dtype, np.integer) else product
        return Handle((result + d.data).astype(d.data.dtype, copy=False), d.dtype.scalar)

    def create_histogram(self, data: Any, bins: int, mask: Any) -> Handle:
        """Counts of 0..bins-1; anything else is dropped, as on the GPU."""
        inside = (data.data >= 0) & (data.data < bins)
        if mask is not None:
            inside = inside & mask.data
        return Handle(np.bincount(data.data[inside].astype(np.int64), minlength=bins).astype(np.int32), tl.int32)
