"""Kernels that do little: that store what they loaded, unchanged, or no more than PyTorch does on the way."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tilesmith.lint.model.device.operations import literal
from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, LaunchSite
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.structure.addresses.buffers import pointer_params
from tilesmith.lint.vocabulary import LOADS, STORES, words

NEUTRAL = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.Div: 1}
NEUTRAL_ON_THE_LEFT = (ast.Add, ast.Mult)
DEEPEST_LOOK = 30
SELF = "self"
"""A name met again while it is being followed: as good as the rest of its assignments."""


def only_copies(source: KernelSource, kernel: JitFunction, launch: LaunchSite) -> bool:
    """Every store puts back, or puts elsewhere at the same offsets, a value that was loaded and not changed."""
    if kernel.callees or (not kernel.flow.bindings and not kernel.calls):
        return False
    stores = [call.node for call in kernel.calls if call.operation in STORES]
    if not stores or any(call.operation == "store_tensor_descriptor" for call in kernel.calls):
        return False
    # parameters that this launch passes a written-out number
    bound = launch.bound_to(kernel) or {}
    host = source.host_of(launch)
    found = {name: _host_literal(value, host) for name, value in {**kernel.defaults, **bound}.items()}
    reader = _StoredValues(kernel, {name: number for name, number in found.items() if number is not None})
    return all(reader.puts_back(store) for store in stores)


@dataclass(frozen=True)
class _StoredValues:
    kernel: JitFunction
    constants: dict[str, float]

    def puts_back(self, store: ast.Call) -> bool:
        if len(store.args) < 2 or not isinstance(store.func, (ast.Name, ast.Attribute)):
            return False
        plain = "store" in (getattr(store.func, "attr", ""), getattr(store.func, "id", ""))
        origin = self.origin(store.args[1], frozenset(), DEEPEST_LOOK) if plain else None
        if origin is None:
            return False
        place = place_text(store.args[0], self.kernel)
        return place is not None and origin.endswith(f"|{place}|{_mask(store, 2)}")

    def origin(self, value: ast.AST, seen: frozenset[str], depth: int) -> str | None:
        """The place an unchanged value was loaded from; None for everything else."""
        if depth == 0:
            return None
        match value:
            case ast.Name(id=name):
                return SELF if name in seen else self._origin_of_name(name, seen | {name}, depth)
            case ast.BinOp() | ast.AugAssign():
                return self._origin_of_sum(value, seen, depth)
            case ast.Call(func=ast.Attribute(attr="load") | ast.Name(id="load"), args=[address, *_]):
                place = place_text(address, self.kernel)
                pointers = " ".join(sorted(pointer_params(address, self.kernel)))
                return None if place is None else f"{pointers}|{place}|{_mask(value, 1)}"
            case ast.Call(func=ast.Attribute(value=cast, attr="to"), args=[target]) if _keeps_values(target):
                return self.origin(cast, seen, depth - 1)
            case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
                return self._common([one, other], seen, depth)
        return None

    def _origin_of_name(self, name: str, seen: frozenset[str], depth: int) -> str | None:
        bindings = self.kernel.flow.by_name.get(name, ())
        if not bindings or not all(binding.whole for binding in bindings):
            return None
        return self._common([binding.value for binding in bindings], seen, depth)

    def _common(self, values: list[ast.AST], seen: frozenset[str], depth: int) -> str | None:
        origins = {self.origin(value, seen, depth - 1) for value in values}
        if origins == {SELF}:
            return SELF
        origins.discard(SELF)
        return origins.pop() if len(origins) == 1 else None

    def _origin_of_sum(self, value: ast.AST, seen: frozenset[str], depth: int) -> str | None:
        found = operands(value)
        neutral = NEUTRAL.get(type(found.op)) if found else None
        if found is None or neutral is None:
            return None
        if self._number(found.right) == neutral:
            return self.origin(found.left, seen, depth - 1)
        if isinstance(found.op, NEUTRAL_ON_THE_LEFT) and self._number(found.left) == neutral:
            return self.origin(found.right, seen, depth - 1)
        return None

    def _number(self, value: ast.expr) -> float | None:
        if isinstance(value, ast.Name):
            return self.constants.get(value.id)
        return literal(value)


def place_text(address: ast.AST, kernel: JitFunction, *, loosely: bool = False) -> str | None:
    """The address as text with its pointer left out, so that two tensors addressed alike compare equal.

    Loosely, run-time parameters are alike too: two tensors may have strides of their own.
    """
    pointers = pointer_params(address, kernel)
    roots = {name for name in pointers if not kernel.flow.values_of(name)}
    if not roots or (len(roots) > 1 and not loosely):
        return None
    unnamed = frozenset(kernel.params) - kernel.constexprs if loosely else frozenset(roots)
    return _text(address, kernel, unnamed, DEEPEST_LOOK)


def _text(value: ast.AST, kernel: JitFunction, unnamed: frozenset[str], depth: int) -> str:
    values = kernel.flow.values_of(value.id) if isinstance(value, ast.Name) else []
    if isinstance(value, ast.Name) and value.id in unnamed and not values:
        return "_"
    if len(values) == 1 and depth and isinstance(values[0], ast.expr):
        return _text(values[0], kernel, unnamed, depth - 1)
    if isinstance(value, ast.BinOp) and depth:
        left, right = (_text(side, kernel, unnamed, depth - 1) for side in (value.left, value.right))
        return f"({left} {type(value.op).__name__} {right})"
    return ast.unparse(value)


def _mask(call: ast.Call, position: int) -> str:
    """A value filled in where the mask of a load is narrower than that of the store is a change."""
    given = [*call.args[position : position + 1], *(k.value for k in call.keywords if k.arg == "mask")]
    return ast.unparse(given[0]) if given else ""


def _keeps_values(dtype: ast.expr) -> bool:
    """A cast to float32, or to whatever a pointer holds, is part of loading and storing."""
    text = ast.unparse(dtype)
    return text.endswith((".float32", ".element_ty", ".dtype"))


def _host_literal(value: ast.expr, host: HostCode | None) -> float | None:
    if isinstance(value, ast.Name) and host is not None:
        values = host.flow.values_of(value.id)
        return literal(values[0]) if len(values) == 1 and isinstance(values[0], ast.expr) else None
    return literal(value)


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
