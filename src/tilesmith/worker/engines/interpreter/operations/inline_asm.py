"""The handful of PTX instructions that kernels inline, on whole blocks.

Straight-line float32 code with one element per instance is evaluated register by register.
Anything else is NotInterpretable, which is no verdict on the kernel.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_faults import NotInterpretable
from tilesmith.worker.engines.interpreter.operations import number_formats
from tilesmith.worker.engines.interpreter.operations.handles import Handle

_INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "add": np.add,
    "cos": np.cos,
    "div": np.divide,
    "ex2": np.exp2,
    "fma": lambda a, b, c: (np.multiply(a, b, dtype=np.float64) + c).astype(np.float32),
    "lg2": np.log2,
    "max": np.fmax,
    "min": np.fmin,
    "mov": lambda a: a,
    "mul": np.multiply,
    "neg": np.negative,
    "rcp": np.reciprocal,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sin": np.sin,
    "sqrt": np.sqrt,
    "sub": np.subtract,
    "tanh": np.tanh,
}
_WHOLE_OPCODES: dict[str, Callable[..., Any]] = {
    "cvt.rna.tf32.f32": number_formats.round_to_tf32,
}
# Modifiers that leave the function of a float32 instruction as it is.
_HARMLESS = {"approx", "ftz", "rn", "f32", "b32", "full"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPECIAL_REGISTERS: dict[str, Callable[[], int]] = {"%globaltimer": time.time_ns, "%smid": lambda: 0}


class AsmResult:
    """What Triton expects of an inline assembly call."""

    def __init__(self, results: list[Handle]) -> None:
        self.results = results

    def get_result(self, index: int) -> Handle:
        """The n-th output."""
        return self.results[index]


def run(asm: str, constraints: str, values: list[Any], result_types: Any, pack: int) -> AsmResult:
    """Evaluate the text on blocks, or say that it cannot be interpreted."""
    types = list(result_types) if isinstance(result_types, list | tuple) else [result_types]
    statements = [part.split(None, 1) for part in _statements(asm)]
    if len({parts[0] for parts in statements}) == 1 and pack > 1 and len(statements) == pack:
        # The same instruction once per packed element: one of them stands for all.
        statements, pack = [[statements[0][0], f"$0, ${', $'.join(map(str, range(1, len(values) + 1)))}"]], 1
    wrong_width = any(handle.data.dtype.itemsize != 4 for handle in values)
    if pack != 1 or wrong_width or any(len(parts) != 2 for parts in statements):
        raise _unknown(asm)
    registers = {f"${len(types) + n}": _as_float(handle.data) for n, handle in enumerate(values)}
    for opcode, operands in statements:
        target, *sources = [operand.strip() for operand in operands.split(",")]
        registers[target] = _function(opcode, asm)(*(_operand(name, registers, asm) for name in sources))
    return AsmResult([_as_result(registers, n, kind, asm) for n, kind in enumerate(types)])


def _statements(asm: str) -> list[str]:
    plain = _COMMENT.sub(" ", asm).replace("{", " ").replace("}", " ")
    parts = (" ".join(part.split()) for part in plain.split(";"))
    return [part for part in parts if part and not part.startswith(".reg")]


def _function(opcode: str, asm: str) -> Callable[..., Any]:
    if opcode in _WHOLE_OPCODES:
        return _WHOLE_OPCODES[opcode]
    name, *modifiers = opcode.split(".")
    if name == "mov" and modifiers in (["u32"], ["u64"]):
        return _INSTRUCTIONS["mov"]
    if name not in _INSTRUCTIONS or not set(modifiers) <= _HARMLESS:
        raise _unknown(asm)
    return _INSTRUCTIONS[name]


def _operand(name: str, registers: dict[str, Any], asm: str) -> Any:
    if name in registers:
        return registers[name]
    if name in _SPECIAL_REGISTERS:
        return np.array([_SPECIAL_REGISTERS[name]()])
    try:
        if name.lower().startswith("0f"):
            return np.float32(struct.unpack(">f", bytes.fromhex(name[2:]))[0])
        return np.float32(float(name))
    except ValueError:
        raise _unknown(asm) from None


def _as_float(data: Any) -> Any:
    return np.ascontiguousarray(data).view(np.float32)


def _as_result(registers: dict[str, Any], number: int, kind: Any, asm: str) -> Handle:
    if f"${number}" not in registers:
        raise _unknown(asm)
    data, dtype = np.atleast_1d(registers[f"${number}"]), number_formats.numpy_dtype(kind)
    same_bits = data.dtype.itemsize == dtype.itemsize
    return Handle(np.ascontiguousarray(data).view(dtype) if same_bits else data.astype(dtype), kind.scalar)


def _unknown(asm: str) -> NotInterpretable:
    shown = " ".join(asm.split())
    return NotInterpretable(f"inline assembly is not interpreted: {shown[:200]}", state.current_location())
