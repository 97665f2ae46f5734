"""The builder that Triton's language calls while a kernel runs.

Shape operations live here: they move data about and carry a pointer's origin along.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import triton.language as tl

from tilesmith.worker.compat.interpreter_names import InterpreterOptions, TritonSemantic, smallest_dot
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_faults import AssertionFailed, NotInterpretable
from tilesmith.worker.engines.interpreter.memory.access import MemoryAccess
from tilesmith.worker.engines.interpreter.operations import inline_asm, libdevice
from tilesmith.worker.engines.interpreter.operations.arithmetic import Arithmetic
from tilesmith.worker.engines.interpreter.operations.handles import Handle

_INT32 = tl.int32
_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")


class HardenedBuilder(Arithmetic, MemoryAccess):
    """All operations of a kernel, on numpy arrays."""

    def __init__(self) -> None:
        super().__init__()
        # Overflow checks double the cost of every addition; debug keeps tl.device_assert alive.
        self.options: Any = dataclasses.replace(
            InterpreterOptions(), sanitize_overflow=False, debug=True, allowed_dot_input_precisions=_PRECISIONS
        )

        self.codegen_fns["min_dot_size"] = smallest_dot()

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("create_", "get_")):
            raise NotInterpretable(
                f"the interpreter has no {name.removeprefix('create_')}", state.current_location()
            )
        raise AttributeError(name)

    def create_get_program_id(self, axis: int) -> Handle:
        """tl.program_id."""
        index = state.launch().programs.current.index
        return Handle(np.array([index[axis]], dtype=np.int32), _INT32)

    def create_get_num_programs(self, axis: int) -> Handle:
        """tl.num_programs."""
        return Handle(np.array([state.launch().programs.grid[axis]], dtype=np.int32), _INT32)

    def create_addptr(self, ptr: Any, offset: Any) -> Handle:
        """Pointer arithmetic in elements."""
        width = max(1, ptr.get_element_ty().primitive_bitwidth // 8)
        step = offset.data.astype(np.int64) * width
        return Handle(ptr.data + step.view(np.uint64), ptr.dtype, origin=ptr.origin)

    def create_splat(self, ret_ty: Any, arg: Any) -> Handle:
        """A scalar in every lane."""
        return _moved(arg, np.full(ret_ty.shape, arg.data.reshape(-1)[0], dtype=arg.data.dtype))

    def create_unsplat(self, arg: Any) -> Handle:
        """The scalar of a block with one element."""
        return _moved(arg, arg.data.reshape(-1)[:1])

    def create_broadcast(self, arg: Any, shape: Any) -> Handle:
        """A block repeated along its unit dimensions."""
        return _moved(arg, np.broadcast_to(arg.data, shape))

    def create_expand_dims(self, arg: Any, axis: int) -> Handle:
        """x[:, None]."""
        return _moved(arg, arg.data[(slice(None),) * (axis % (arg.data.ndim + 1)) + (None,)])

    def create_reshape(self, arg: Any, shape: Any, allow_reorder: bool) -> Handle:
        """tl.reshape, tl.view."""
        return _moved(arg, arg.data.reshape(shape))

    def create_trans(self, arg: Any, perm: Any) -> Handle:
        """tl.trans, tl.permute."""
        return _moved(arg, np.transpose(arg.data, perm))

    def create_print(self, *_details: Any) -> None:
        """Thousands of programs printing help nobody here."""

    def create_assert(self, condition: Any, message: str) -> None:
        """tl.device_assert."""
        if not condition.data.all():
            raise AssertionFailed(f"tl.device_assert failed: {message}", state.current_location())

    def create_assume(self, condition: Any) -> None:
        """tl.assume: what follows may be compiled as if it held."""
        if not condition.data.all():
            raise AssertionFailed("tl.assume was given something false", state.current_location())

    def create_barrier(self, *_details: Any) -> None:
        """A program's threads are one thread here."""

    def create_grid_dependency_wait(self, *_details: Any) -> None:
        """Launches are complete before the next begins."""

    create_grid_dependency_launch_dependents = create_grid_dependency_wait

    def create_extern_elementwise(
        self, library: str, path: str, symbol: str, arguments: Any, result_type: Any, is_pure: bool
    ) -> Handle:
        """libdevice."""
        return libdevice.call(symbol, arguments, result_type)

    def create_inline_asm(
        self, asm: str, constraints: str, values: Any, result_types: Any, is_pure: bool, pack: int
    ) -> inline_asm.AsmResult:
        """The few PTX instructions that kernels use."""
        return inline_asm.run(asm, constraints, values, result_types, pack)


class HardenedSemantic(TritonSemantic):
    """Triton's semantic layer, with the value of `other` kept when it is a scalar zero."""

    def load(self, ptr: Any, mask: Any, other: Any, *details: Any, **named: Any) -> Any:
        """tl.load."""
        self.builder.given_other = other
        try:
            return super().load(ptr, mask, other, *details, **named)
        finally:
            self.builder.given_other = None

    def broadcast_impl_value(self, lhs: Any, rhs: Any) -> Any:
        """Most operands have the same shape already."""
        same_kind = lhs.type.is_block() == rhs.type.is_block()
        if same_kind and lhs.handle.data.shape == rhs.handle.data.shape:
            return lhs, rhs
        return super().broadcast_impl_value(lhs, rhs)


def _moved(arg: Any, data: Any) -> Handle:
    return Handle(data, arg.dtype.scalar, origin=arg.origin)
