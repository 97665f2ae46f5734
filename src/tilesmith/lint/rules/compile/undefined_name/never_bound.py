"""Names that nothing binds: a forgotten import, a misspelling, a parameter renamed in half of the places."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from difflib import get_close_matches

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.model.syntax.names import NameScope
from tilesmith.lint.rules.findings import compile_fault, run_fault, warning
from tilesmith.lint.structure.device_flow.compile_time import is_device_code
from tilesmith.records import Finding

RULE = "undefined-name"
BUILTINS = frozenset(dir(builtins))
NAME_MAKERS = frozenset({"exec", "eval", "globals", "vars", "locals", "get_ipython"})
NAME_TABLES = frozenset({"builtins", "sys.modules", "importlib.import_module"})
USUAL_IMPORTS = {
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "triton": "import triton",
    "tl": "import triton.language as tl",
    "np": "import numpy as np",
    "math": "import math",
    "os": "import os",
    "time": "import time",
    "functools": "import functools",
    "itertools": "import itertools",
    "partial": "from functools import partial",
    "libdevice": "from triton.language.extra import libdevice",
    "Optional": "from typing import Optional",
    "Tuple": "from typing import Tuple",
    "List": "from typing import List",
    "Dict": "from typing import Dict",
    "Any": "from typing import Any",
    "Union": "from typing import Union",
    "Callable": "from typing import Callable",
    "Tensor": "from torch import Tensor",
}


def never_bound_names(source: KernelSource) -> Iterator[Finding]:
    """Silent where names may come from elsewhere: star imports, exec, globals()."""
    names = [node for node in source.syntax.nodes if type(node) is ast.Name]
    if source.names.stars or any(node.id in NAME_MAKERS for node in names):
        return
    if NAME_TABLES.intersection(source.names.dotted.values()):
        return
    for node in _unbound(source, names):
        if is_device_code(source, node):
            yield compile_fault(source, RULE, node, _message(source, node))
        elif not _is_annotation(source, node):
            yield run_fault(source, RULE, node, _message(source, node))
        elif node in source.surely_run:
            yield warning(RULE, node.lineno, f"{_message(source, node)} (Python before 3.14 evaluates it)")


def _unbound(source: KernelSource, names: list[ast.Name]) -> Iterator[ast.Name]:
    known: dict[tuple[int, str], bool] = {}
    scope_of = source.names.scope_of
    for node in names:
        key = (id(scope_of[node]), node.id)
        if key not in known:
            special = node.id in BUILTINS or node.id.startswith("__")
            known[key] = special or source.names.scope_binding(node) is not None
        if not known[key] and isinstance(node.ctx, ast.Load):
            yield node


def _is_annotation(source: KernelSource, node: ast.Name) -> bool:
    below: ast.AST = node
    for parent in source.syntax.ancestors(node):
        if isinstance(parent, (ast.arg, ast.AnnAssign)) and parent.annotation is below:
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and parent.returns is below:
            return True
        below = parent
    return False


def _message(source: KernelSource, node: ast.Name) -> str:
    if node.id in USUAL_IMPORTS:
        return f"nothing binds {node.id}: add `{USUAL_IMPORTS[node.id]}`"
    near = get_close_matches(node.id, _visible(source, node), n=1, cutoff=0.7)
    cure = f"did you mean {near[0]}?" if near else "define it, or pass it as a parameter"
    return f"nothing binds {node.id}: {cure}"


def _visible(source: KernelSource, node: ast.Name) -> list[str]:
    found: list[str] = []
    scope: NameScope | None = source.names.scope_of[node]
    while scope is not None:
        found += scope.bindings
        scope = scope.parent
    return found
