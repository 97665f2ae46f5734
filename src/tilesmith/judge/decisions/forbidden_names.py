"""Names by which code reaches into functions not its own: no kernel needs them, and no audit event shows them."""

from __future__ import annotations

import ast

from tilesmith.judge.gate_failed import GateFailed
from tilesmith.lint import KernelSource
from tilesmith.records import Verdict

_FORBIDDEN = frozenset(
    (
        *("__closure__", "cell_contents", "__globals__", "__builtins__", "__subclasses__"),
        *("f_globals", "f_locals", "f_back", "tb_frame", "gi_frame", "cr_frame"),
        *("_get_current_function_mode_stack", "_get_current_dispatch_mode_stack", "_get_function_stack_at"),
        *("_get_current_function_mode", "_get_current_dispatch_mode", "_pop_mode", "_pop_mode_temporarily"),
        *("_ExcludeDispatchKeyGuard", "_DisableTorchDispatch", "redispatch", "getclosurevars", "get_type_hints"),
        *("_posixsubprocess", "fork_exec"),
        *(
            "_pop_torch_function_stack",
            "_pop_torch_dispatch_stack",
            "_disable_current_modes",
            "DisableTorchFunction",
        ),
    )
)


def refuse_forbidden_names(source: KernelSource) -> None:
    """As an attribute, a name or a string, for `getattr`."""
    for node in source.syntax.nodes:
        name = _named(node)
        if name in _FORBIDDEN:
            raise GateFailed(
                Verdict.CHEATING,
                f"line {getattr(node, 'lineno', '?')}: it reaches into the code that judges it ({name})",
            )


def _named(node: ast.AST) -> str | None:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name):
            return name
        case ast.Constant(value=str(name)):
            return name
        case _:
            return None
