"""How much a kernel does to its data: enough to be worth a launch, or no more than PyTorch does on the way."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.structure.addresses.written_parameters import pointer_params
from tilesmith.lint.structure.kernel_kinds.copying_kernels import place_text
from tilesmith.lint.vocabulary import LOADS, words

PLAIN = words(
    """
    load store program_id num_programs arange cdiv full zeros zeros_like broadcast_to expand_dims multiple_of
    max_contiguous make_block_ptr advance cast to assume static_assert reshape view
    """
)
"""Calls that move data or count, and compute nothing."""
CURVES = words(
    """
    maximum minimum where clamp abs exp exp2 log log2 sqrt rsqrt sigmoid tanh erf sin cos fma expm1 log1p pow fdiv
    div_rn sqrt_rn
    """
)
"""Functions of one value."""
PYTHON_FUNCTIONS = words("range min max abs float int len to cast")
MOST_CURVES = 4
MOST_OPERATIONS = 16
"""In one activation function, written out; a chain of several takes more."""
DEEPEST_CALL = 4


def does_little(kernel: JitFunction, source: KernelSource) -> bool:
    """A copy, one operand added or multiplied, or one activation: nothing that fuses two steps into one."""
    parts = source.with_callees(kernel)
    if any(loop.carried for part in parts for loop in part.loops) or not kernel.calls:
        return False
    operations = {call.operation for part in parts for call in part.calls}
    if not operations <= PLAIN | CURVES or any(_calls_unknown(part, source) for part in parts) or _moves(parts):
        return False
    loaded = {name for part in parts for name in _loaded(part)}
    steps = max(len(loaded) - 1, 0) + bool(operations & CURVES)
    return steps <= 1 and _curves(kernel, source) <= MOST_CURVES and sum(map(_arithmetic, parts)) <= MOST_OPERATIONS


def _curves(function: JitFunction, source: KernelSource, depth: int = DEEPEST_CALL) -> int:
    """How many are taken one after another, those of called functions each time they are called."""
    own = sum(call.operation in CURVES for call in function.calls)
    called = [n.func.id for n in function.nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    inner = [f for name in called if name in function.callees for f in source.jit_named(name)[-1:]] if depth else []
    return own + sum(_curves(callee, source, depth - 1) for callee in inner)


def _calls_unknown(part: JitFunction, source: KernelSource) -> bool:
    """Neither the language, nor Python's own functions, nor the file's: `x.sum(0)`, a function from elsewhere."""
    for node in part.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if source.dotted(node.func) is None:
                if name not in PYTHON_FUNCTIONS and name not in part.callees:
                    return True
    return False


def _loaded(part: JitFunction) -> set[str]:
    """What it loads from: parameters, or the place itself where that cannot be told."""
    found: set[str] = set()
    for call in part.calls:
        if call.operation in LOADS and call.node.args:
            found |= pointer_params(call.node.args[0], part) or {ast.dump(call.node.args[0])}
    return found


def _moves(parts: tuple[JitFunction, ...]) -> bool:
    """Gathers, and stores elsewhere than where something was loaded: transposing and padding are work."""
    for part in parts:
        loads = [call.node for call in part.calls if call.operation in LOADS and call.node.args]
        behind = {node for load in loads for node in part.flow.parts_behind(load.args[0])}
        if any(load in behind for load in loads):
            return True
        loaded = {place_text(load.args[0], part, loosely=True) for load in loads}
        stores = [call.node for call in part.calls_of("store") if call.node.args]
        if not all(place_text(store.args[0], part, loosely=True) in loaded for store in stores):
            return True
    return False


def _arithmetic(part: JitFunction) -> int:
    """Operations on data, those of addresses included: a bound, not a count."""
    return sum(isinstance(node, (ast.BinOp, ast.AugAssign)) for node in _data(part))


def _data(part: JitFunction) -> list[ast.AST]:
    """What lies between the loads and the stores."""
    loads = [call.node for call in part.calls if call.operation in LOADS]
    values = [argument for call in part.calls_of("store") for argument in call.node.args[1:2]]
    found = part.flow.parts_behind(*values)
    addresses = {node for load in loads for node in part.flow.parts_behind(load)}
    return [node for node in found if node not in addresses]
