"""The reference's own code: imported, loaded from its file, or asked for the answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import MODEL_CLASS, HostCode, KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.vocabulary import words
from tilesmith.records import Finding

REFERENCE_CLASS = "Model"
"""What every task calls it."""
TASK_NAMES = frozenset({REFERENCE_CLASS, "get_inputs", "get_init_inputs"})
TASK_MODULES = words("task reference reference_model original_model ref_model problem baseline")
TASK_ENDINGS = ("_task", "_reference", "_baseline")
LIBRARIES = words("torch torchvision torchaudio triton transformers timm keras tensorflow pydantic django flask")
TELLING = frozenset({ast.Import, ast.ImportFrom, ast.Call})
LOADERS = words(
    """
    importlib.util.spec_from_file_location importlib.machinery.SourceFileLoader runpy.run_path runpy.run_module
    imp.load_source
    """
)
MODULE_FINDERS = frozenset({"sys.modules", "importlib.import_module"})
IMPORTS = "the task's own module is imported: a candidate stands alone; write here what it needs"
LOADS = "a Python file is loaded by hand: a candidate stands alone; write here what it needs"
ASKS = "the reference model is asked for the answer: compute it in this model's kernels"


@first_on_each_line
def reference_imported(source: KernelSource) -> Iterator[Finding]:
    for node in source.syntax.nodes:
        message = _message(node, source) if type(node) in TELLING else ""
        if message and isinstance(node, (ast.stmt, ast.expr)) and source.runs(node):
            yield warning("reference-imported", node.lineno, message)
    for call in _asked(source):
        yield warning("reference-imported", call.lineno, ASKS)


def _message(node: ast.AST, source: KernelSource) -> str:
    match node:
        case ast.Import(names=names):
            return IMPORTS if any(_is_task(alias.name, source) for alias in names) else ""
        case ast.ImportFrom(names=names):
            module = node.module or ""
            if module.partition(".")[0] in LIBRARIES:
                return ""
            named = any(alias.name in TASK_NAMES for alias in names)
            return IMPORTS if named or _is_task(module, source) else ""
        case ast.Call(func=ast.Name() | ast.Attribute()):
            return _loads(node, source)
    return ""


def _is_task(module: str, source: KernelSource) -> bool:
    last = module.rpartition(".")[2]
    named = last in TASK_MODULES or last.endswith(TASK_ENDINGS) or last == source.facts.task_module
    return named and module.partition(".")[0] not in LIBRARIES


def _loads(call: ast.Call, source: KernelSource) -> str:
    dotted = source.dotted(call.func) or getattr(call.func, "id", "")
    if dotted in LOADERS and source.has_model_class:
        return LOADS
    match dotted, call.args:
        case "importlib.import_module" | "__import__", [ast.Constant(value=str() as module), *_]:
            return IMPORTS if _is_task(module, source) else ""
        case "exec" | "eval", [text, *_]:
            read = [n for n in source.syntax.inside(text) if isinstance(n, ast.Call)]
            return LOADS if any(_reads_file(part) for part in read) else ""
    return ""


def _reads_file(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id="open") | ast.Attribute(attr="read_text" | "read_bytes" | "read"):
            return True
    return False


def _asked(source: KernelSource) -> Iterator[ast.Call]:
    """Calls of an instance of the reference, or of the forward it hands down."""
    if not any(node.name == MODEL_CLASS for node in source.classes):
        return
    members = _instances(source)
    for host in source.live_hosts:
        for call in source.syntax.of_type(ast.Call, *host.node.body):
            if _asks(call.func, host, members, source):
                yield call


def _asks(function: ast.expr, host: HostCode, members: set[str], source: KernelSource) -> bool:
    match function:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="forward" | "__call__"):
            return host.owner is not None and any(_is_reference(base, source) for base in host.owner.bases)
        case ast.Attribute(value=owner, attr="forward" | "__call__") if _is_reference(owner, source):
            return True
        case ast.Attribute(value=inner, attr="forward"):
            return _asks(inner, host, members, source)
        case ast.Attribute(attr=name):
            return name in members
        case ast.Name(id=name):
            return name in members and not _is_reference(function, source)
        case ast.Call(func=owner):
            return _is_reference(owner, source)
    return False


def _instances(source: KernelSource) -> set[str]:
    """Names and attributes bound to `Model(...)`."""
    found: set[str] = set()
    for node in source.syntax.of_type(ast.Assign):
        if isinstance(node.value, ast.Call) and _is_reference(node.value.func, source) and source.runs(node):
            found |= {target.attr for target in node.targets if isinstance(target, ast.Attribute)}
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _is_reference(expression: ast.expr, source: KernelSource) -> bool:
    """The class `Model`, of this file or imported under whatever name."""
    dotted = source.dotted(expression)
    if dotted is not None:
        head, _, tail = dotted.rpartition(".")
        return tail == REFERENCE_CLASS and bool(head) and head.partition(".")[0] not in LIBRARIES
    if isinstance(expression, ast.Attribute) and expression.attr == REFERENCE_CLASS:
        return any(source.dotted(node) in MODULE_FINDERS for node in source.syntax.inside(expression))
    named = isinstance(expression, ast.Name) and expression.id == REFERENCE_CLASS
    return named and any(node.name == REFERENCE_CLASS for node in source.classes)
