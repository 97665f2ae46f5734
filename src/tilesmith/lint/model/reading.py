"""From a candidate's text to a `KernelSource`, or to the line on which it stops being Python."""

from __future__ import annotations

import ast
import sys
import warnings

from tilesmith.lint.model.device.certain_compilation import surely_compiled
from tilesmith.lint.model.device.jit_functions import find_jit_functions
from tilesmith.lint.model.host.certain_execution import surely_run
from tilesmith.lint.model.host.launch_sites import find_launches
from tilesmith.lint.model.host.reachability import FUNCTIONS, live_functions
from tilesmith.lint.model.source import MODEL_CLASS, HostCode, KernelSource, KernelSyntaxError, TaskFacts
from tilesmith.lint.model.syntax.flow import read_flow
from tilesmith.lint.model.syntax.names import resolve_names
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.syntax import parse

LARGEST_SOURCE_CHARACTERS = 1_000_000
NAME_MAKERS = frozenset({"exec", "eval", "globals", "setattr", "vars", "locals"})
NO_FACTS = TaskFacts()


def read_kernel(text: str, facts: TaskFacts = NO_FACTS) -> KernelSource:
    """Parse once; never imports or runs what it reads.

    Raises KernelSyntaxError for anything that Python, or we, cannot read.
    """
    tree = _parse(text)
    try:
        return _read(text, SyntaxTree(tree), facts)
    except RecursionError:
        raise KernelSyntaxError(None, "nested too deeply to read", python_refuses=False) from None


def _read(text: str, syntax: SyntaxTree, facts: TaskFacts) -> KernelSource:
    names = resolve_names(syntax)
    jit_functions = find_jit_functions(syntax, names.dotted)
    launches = find_launches(syntax, names.dotted, jit_functions)
    device_code = frozenset(node for f in jit_functions for node in syntax.of_type(ast.FunctionDef, f.node))
    run = surely_run(syntax, names, MODEL_CLASS, device_code)
    started = [launch for launch in launches if launch.node in run]
    return KernelSource(
        text=text,
        syntax=syntax,
        names=names,
        facts=facts,
        jit_functions=jit_functions,
        launches=launches,
        hosts=_find_hosts(syntax, device_code),
        classes=tuple(syntax.of_type(ast.ClassDef)),
        has_model_class=any(_may_bind_model(node) for node in syntax.nodes),
        live_functions=live_functions(syntax, MODEL_CLASS),
        surely_run=run,
        surely_compiled=surely_compiled(jit_functions, started, names),
    )


def _find_hosts(syntax: SyntaxTree, device_code: frozenset[ast.FunctionDef]) -> tuple[HostCode, ...]:
    hosts = []
    for node in syntax.nodes:
        if isinstance(node, FUNCTIONS) and node not in device_code:
            owner = syntax.parents[node]
            owner_class = owner if isinstance(owner, ast.ClassDef) else None
            hosts.append(HostCode(node, owner_class, read_flow(syntax, node.body)))
    return tuple(hosts)


def too_large() -> KernelSyntaxError:
    message = f"too large to read: more than {LARGEST_SOURCE_CHARACTERS:,} characters"
    return KernelSyntaxError(None, message, python_refuses=False)


def _parse(text: str) -> ast.Module:
    if len(text) > LARGEST_SOURCE_CHARACTERS:
        raise too_large()
    if "\0" in text:
        raise KernelSyntaxError(text.count("\n", 0, text.index("\0")) + 1, "null byte in the source")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(text)
    except SyntaxError as error:
        newer = "f-string" in error.msg and sys.version_info < (3, 12)
        fenced = (error.text or "").lstrip().startswith("```")
        message = "a Markdown fence is not Python: keep only the code between the fences" if fenced else error.msg
        raise KernelSyntaxError(error.lineno, message, python_refuses=not newer) from None
    except (RecursionError, MemoryError):
        raise KernelSyntaxError(None, "nested too deeply to read") from None
    except ValueError as error:
        raise KernelSyntaxError(None, f"not a readable Python source: {error}") from None


def _may_bind_model(node: ast.AST) -> bool:
    """Generous: when no node of a file passes, nothing in it can leave a `ModelNew` behind."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return node.name == MODEL_CLASS
    if isinstance(node, ast.alias):
        return node.name == "*" or MODEL_CLASS in (node.name, node.asname)
    if isinstance(node, ast.Name):
        stored = node.id == MODEL_CLASS and isinstance(node.ctx, ast.Store)
        return stored or node.id in NAME_MAKERS
    return isinstance(node, ast.Constant) and node.value == MODEL_CLASS
