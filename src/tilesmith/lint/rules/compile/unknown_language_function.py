"""Triton has only its own functions, methods and keywords."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from difflib import get_close_matches

from tilesmith.lint.model.device.values import PARAMETER, ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource, LanguageCall
from tilesmith.lint.model.syntax.call_arguments import hides_arguments, is_none
from tilesmith.lint.releases import LIBDEVICE_NAMES, SIGNATURES, TENSOR_MEMBERS
from tilesmith.lint.rules.findings import argument, compile_fault, run_fault
from tilesmith.lint.structure.addresses.buffers import is_pointer
from tilesmith.lint.structure.device_flow.compile_time import is_device_code
from tilesmith.lint.vocabulary import LANGUAGE, LANGUAGE_NAMES, MATH_NAMES, words
from tilesmith.records import Finding

RULE = "unknown-language-function"
WRITTEN_OUT = {
    "tanh": "write it as 2 * tl.sigmoid(2 * x) - 1, or use triton.language.extra.libdevice.tanh",
    "relu": "write it as tl.maximum(x, 0.0)",
    "silu": "write it as x * tl.sigmoid(x)",
    "gelu": "write it with tl.erf: 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))",
    "pow": "use exp2(y * log2(x)), or triton.language.extra.libdevice.pow",
    "log1p": "use tl.log(1.0 + x), or triton.language.extra.libdevice.log1p",
    "expm1": "use tl.exp(x) - 1.0, or triton.language.extra.libdevice.expm1",
    "mean": "use tl.sum(x, axis) / n",
    "any": "use tl.max over the condition as an integer",
    "all": "use tl.min over the condition as an integer",
    "inf": 'write float("inf")',
    "pi": "write the number",
    "bool": "use tl.int1",
    "float": "use tl.float32",
    "int": "use tl.int32",
    "matmul": "use tl.dot",
}
OTHERWISE = "write it out with the functions Triton has, or look in triton.language.extra.libdevice"
MODULES = {
    "": LANGUAGE_NAMES,
    "math": MATH_NAMES,
    "extra.libdevice": LIBDEVICE_NAMES,
    "extra.cuda.libdevice": LIBDEVICE_NAMES,
}


def unknown_functions(source: KernelSource) -> Iterator[Finding]:
    """A name that no release has in `triton.language`, in kernels, on the host and in imports."""
    invented = [node for node, dotted in source.names.dotted.items() if _is_invented(dotted)]
    imported = list(_imports_of_nothing(source))
    if not (invented or imported) or _adapts_to_release(source):
        return
    yield from imported
    for node in invented:
        if not isinstance(node, (ast.Attribute, ast.Name)) or _is_choice(source, node):
            continue
        message = _message(source.names.dotted[node])
        if is_device_code(source, node):
            yield compile_fault(source, RULE, node, message)
        elif node in source.surely_run and isinstance(node.ctx, ast.Load):
            yield run_fault(source, RULE, node, message)


def _is_choice(source: KernelSource, node: ast.expr) -> bool:
    """Its root is bound in several ways, as by authors who ask which release they have."""
    while isinstance(node, ast.Attribute):
        node = node.value
    scope = source.names.scope_binding(node) if isinstance(node, ast.Name) else None
    return scope is not None and isinstance(node, ast.Name) and len(scope.bindings[node.id]) > 1


def _imports_of_nothing(source: KernelSource) -> Iterator[Finding]:
    """Only where nothing guards them: elsewhere authors try what this release has."""
    for node in source.syntax.nodes:
        if type(node) is not ast.ImportFrom:
            continue
        if node.module is not None and f"{node.module}.".startswith(LANGUAGE) and not node.level:
            for alias in node.names:
                dotted = f"{node.module}.{alias.name}"
                if alias.name != "*" and _is_invented(dotted) and node in source.surely_run:
                    yield run_fault(source, RULE, node, _message(dotted))


def _message(dotted: str) -> str:
    short = dotted.removeprefix(LANGUAGE)
    head, _, name = short.rpartition(".")
    near = get_close_matches(name, MODULES[head], n=1, cutoff=0.8)
    cure = WRITTEN_OUT.get(name) or (f"did you mean tl.{near[0]}?" if near and not head else OTHERWISE)
    return f"Triton has no tl.{short}: {cure}"


def _is_invented(dotted: str) -> bool:
    if not dotted.startswith(LANGUAGE):
        return False
    head, _, name = dotted.removeprefix(LANGUAGE).rpartition(".")
    return not name.startswith("_") and name not in MODULES.get(head, (name,))


def _adapts_to_release(source: KernelSource) -> bool:
    """The author asks what this Triton has, or adds to it: then nothing is certain."""
    for node in source.syntax.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asks = node.func.id in ("hasattr", "getattr", "setattr") and bool(node.args)
            if asks and (source.dotted(node.args[0]) or "").startswith("triton"):
                return True
        stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if stored and (source.dotted(node) or "").startswith("triton"):
            return True
    return False


TORCH_MEMBERS = {
    "float": "use .to(tl.float32)",
    "half": "use .to(tl.float16)",
    "bfloat16": "use .to(tl.bfloat16)",
    "int": "use .to(tl.int32)",
    "long": "use .to(tl.int64)",
    "bool": "use .to(tl.int1)",
    "mean": "use tl.sum(x, axis) / n",
    "unsqueeze": "use x[:, None]",
    "transpose": "use tl.trans(x)",
    "t": "use tl.trans(x)",
    "matmul": "use tl.dot(a, b)",
    "size": "use x.shape[i], or pass the size as a parameter",
    "stride": "pass the stride as a parameter",
    "shape": "a pointer knows no sizes, pass them as parameters",
    "numel": "pass the count as a parameter",
    "dim": "use len(x.shape)",
    "pow": "multiply, or use tl.exp2(y * tl.log2(x))",
    "square": "use x * x",
    "clamp": "use tl.minimum(tl.maximum(x, low), high)",
    "rsqrt": "use tl.rsqrt(x)",
    "tanh": "use 2 * tl.sigmoid(2 * x) - 1",
    "relu": "use tl.maximum(x, 0.0)",
    "fill_": "use tl.full",
    "item": "a scalar needs none",
}
WIDE_ONLY = words("exp exp2 log log2 sin cos sqrt rsqrt erf floor ceil sigmoid")
TORCH_KEYWORDS = {"dim": "axis", "keepdim": "keep_dims", "keepdims": "keep_dims", "fill_value": "value"}


def unknown_members_and_arguments(source: KernelSource) -> Iterator[Finding]:
    """What torch tensors have and Triton's have not."""
    for function in source.jit_functions:
        for node in function.nodes:
            if type(node) is ast.Attribute and _is_missing(source, function, node):
                cure = TORCH_MEMBERS.get(node.attr, f"look for tl.{node.attr}, or write it out")
                message = f"a Triton tensor has no .{node.attr}: {cure}"
                yield compile_fault(source, RULE, node, message)
        for call in function.calls:
            if complaint := _wrong_arguments(call) or _short_type(function, call) or _wrong_access(function, call):
                yield compile_fault(source, RULE, call.node, complaint)


def _is_missing(source: KernelSource, function: JitFunction, node: ast.Attribute) -> bool:
    """A pointer's shape is empty, so that asking for one of its sides fails as well."""
    side = node.attr == "shape" and isinstance(source.syntax.parents.get(node), ast.Subscript)
    if node.attr.startswith("_") or (node.attr in TENSOR_MEMBERS and not side):
        return False
    base = function.value(node.value)
    if base == PARAMETER and isinstance(node.value, ast.Name) and node.value.id in function.params:
        return is_pointer(source, function, node.value.id)
    return base.kind is ValueKind.TENSOR and not side


def _short_type(function: JitFunction, call: LanguageCall) -> str | None:
    """Functions that compute in 32 and 64 bits only."""
    if call.operation not in WIDE_ONLY or "libdevice" in call.name or not call.node.args:
        return None
    dtype = function.value(call.node.args[0]).dtype
    if dtype not in ("float16", "bfloat16"):
        return None
    return f"tl.{call.name} computes in float32 or float64, not in {dtype}: convert with .to(tl.float32) first"


def _wrong_access(function: JitFunction, call: LanguageCall) -> str | None:
    """Offsets alone, without the pointer they belong to; what fills masked places, without a mask."""
    if call.name not in ("load", "store") or not call.node.args or hides_arguments(call.node):
        return None
    fill, mask = argument(call.node, 2, "other"), argument(call.node, 1, "mask")
    if call.name == "load" and fill is not None and not is_none(fill) and (mask is None or is_none(mask)):
        return "tl.load takes other= only together with mask=: add the mask, or drop other"
    address = function.value(call.node.args[0])
    if address.kind is not ValueKind.TENSOR or address.dtype not in ("int32", "int64"):
        return None
    text = ast.unparse(call.node.args[0])[:60]
    return f"tl.{call.name} needs an address, and {text} is a number: add it to the pointer"


def _wrong_arguments(call: LanguageCall) -> str | None:
    """Outside of what any release takes."""
    signature = SIGNATURES.get(call.name)
    given, named = call.node.args, call.node.keywords
    if signature is None or hides_arguments(call.node):
        return None
    for keyword in named:
        if keyword.arg not in signature.keywords and not str(keyword.arg).startswith("_"):
            cure = TORCH_KEYWORDS.get(str(keyword.arg))
            hint = f"it is called {cure}" if cure in signature.keywords else "leave it out"
            return f"tl.{call.name} has no parameter {keyword.arg}: {hint}"
    if len(given) + len(named) < signature.least:
        missing = sorted(signature.keywords - {keyword.arg for keyword in named})
        return f"tl.{call.name} needs {signature.least} arguments, of {', '.join(missing)}: give all of them"
    if len(given) > signature.most:
        return f"tl.{call.name} takes at most {signature.most} positional arguments, not {len(given)}"
    return None


def unknown_language_function(source: KernelSource) -> Iterator[Finding]:
    """Functions, tensor methods and arguments that `triton.language` has in no release."""
    yield from unknown_functions(source)
    yield from unknown_members_and_arguments(source)
