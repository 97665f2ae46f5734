"""Switches of PyTorch, Triton and their libraries, turned for the whole process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.vocabulary import PROCESS_SWITCHES, words
from tilesmith.records import Finding

SETTERS = words(
    """
    torch.set_float32_matmul_precision torch.use_deterministic_algorithms torch.set_deterministic_debug_mode
    torch.set_default_dtype torch.set_default_tensor_type torch.set_flush_denormal torch.backends.cudnn.flags
    torch.backends.cudnn.set_flags torch.backends.cuda.preferred_linalg_library
    torch.backends.cuda.preferred_blas_library
    """
)
SETTER_WORDS = ("torch.backends.cuda.enable_", "torch.backends.cuda.allow_", "torch._C._set_")
VARIABLES = ("TRITON_", "TORCH", "PYTORCH_", "CUDA_", "CUBLAS", "CUDNN_", "NVIDIA_")
ENVIRONMENT = "os.environ"


@first_on_each_line
def flags_flipped(source: KernelSource) -> Iterator[Finding]:
    """Set for this model, they change the reference as well, and results with it."""
    for node, dotted in source.names.dotted.items():
        name = _flag(node, dotted, source)
        if name and isinstance(node, ast.expr) and source.runs(node):
            message = (
                f"{name} is set for the whole process, the reference included: leave it alone, and say what this "
                "kernel needs at the kernel (input_precision=, dtypes)"
            )
            yield warning("flags-flipped", node.lineno, message)


def _flag(node: ast.AST, dotted: str, source: KernelSource) -> str:
    """The switch that is turned where this name stands; empty for none."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return dotted if dotted.startswith(PROCESS_SWITCHES) and not _restores(node, dotted, source) else ""
    parent = source.syntax.parents[node]
    if dotted == ENVIRONMENT or dotted.startswith((f"{ENVIRONMENT}.", "os.putenv")):
        return _variable(node, dotted, source)
    if not isinstance(parent, ast.Call):
        return ""
    if parent.func is node and (dotted in SETTERS or dotted.startswith(SETTER_WORDS)):
        return dotted
    if isinstance(parent.func, ast.Name) and parent.func.id == "setattr" and parent.args[0] is node:
        return dotted if f"{dotted}.".startswith(PROCESS_SWITCHES) else ""
    return ""


def _restores(node: ast.Attribute, dotted: str, source: KernelSource) -> bool:
    """`torch.backends.x = before`, where `before` was read from it."""
    assignment = source.syntax.parents[node]
    if not isinstance(assignment, ast.Assign) or not isinstance(assignment.value, ast.Name):
        return False
    reads = [n for n, name in source.names.dotted.items() if name == dotted and n is not node]
    above = [source.syntax.parents[read] for read in reads]
    names = [t.id for a in above if isinstance(a, ast.Assign) for t in a.targets if isinstance(t, ast.Name)]
    return assignment.value.id in names


def _variable(node: ast.AST, dotted: str, source: KernelSource) -> str:
    """The environment variable written here, if it is one that steers these libraries."""
    keys: list[ast.expr | None] = []
    match source.syntax.parents[node]:
        case ast.Subscript(slice=key, ctx=ast.Store()) if dotted == ENVIRONMENT:
            keys = [key]
        case ast.Call(func=function, args=[first, *_]) if function is node:
            if dotted.endswith("update") and isinstance(first, ast.Dict):
                keys = first.keys
            elif dotted.endswith(("setdefault", "putenv")):
                keys = [first]
    names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return next((name for name in names if name.startswith(VARIABLES)), "")
