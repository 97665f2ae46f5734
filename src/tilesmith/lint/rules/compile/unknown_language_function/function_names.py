"""Names that `triton.language` has in no release."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from difflib import get_close_matches

from tilesmith.lint.model.device.inference import LANGUAGE
from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.releases import LIBDEVICE_NAMES
from tilesmith.lint.rules.findings import compile_fault, run_fault
from tilesmith.lint.structure.device_flow.compile_time import is_device_code
from tilesmith.lint.vocabulary import LANGUAGE_NAMES, MATH_NAMES
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
