"""PyTorch computation that a candidate leaves in host code, beside its kernels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.vocabulary import words

FUNCTIONAL = "torch.nn.functional."
HARMLESS_FUNCTIONAL = frozenset({"pad", "dropout", "one_hot"})
HEAVY_FUNCTIONS = words(
    """
    matmul mm bmm mv addmm baddbmm addbmm einsum tensordot inner dot conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d softmax log_softmax layer_norm batch_norm group_norm lstm gru rnn_tanh
    cumsum cumprod sort topk bilinear cdist
    """
)
LIGHT_MODULES = words(
    """
    Module Parameter ParameterList ParameterDict ModuleList ModuleDict Identity Dropout Dropout1d Dropout2d
    Dropout3d Flatten Unflatten
    """
)


def torch_work(source: KernelSource) -> Iterator[ast.AST]:
    """Calls and products in live host code, constructors apart, that PyTorch would compute."""
    members = _compute_members(source)
    for host in source.live_hosts:
        if host.name != "__init__":
            for node in source.syntax.inside(host.node):
                if _is_work(node, source, members):
                    yield node


def _is_work(node: ast.AST, source: KernelSource, members: frozenset[str]) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    if not isinstance(node, ast.Call):
        return False
    dotted = source.dotted(node.func)
    if dotted is not None:
        tail = dotted.rpartition(".")[2]
        if dotted.startswith(FUNCTIONAL):
            return tail not in HARMLESS_FUNCTIONAL
        return dotted == f"torch.{tail}" and tail in HEAVY_FUNCTIONS
    method = node.func
    if not isinstance(method, ast.Attribute):
        return False
    own = isinstance(method.value, ast.Name) and method.value.id == "self"
    return (own and method.attr in members) or (not own and method.attr in {"matmul", "bmm", "mm", "addmm"})


def _compute_members(source: KernelSource) -> frozenset[str]:
    """`self.conv` after `self.conv = nn.Conv2d(...)`."""
    members = set()
    for node in source.syntax.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            dotted = source.dotted(node.value.func) or ""
            head, _, tail = dotted.rpartition(".")
            if head == "torch.nn" and tail not in LIGHT_MODULES:
                members |= {target.attr for target in node.targets if isinstance(target, ast.Attribute)}
    return frozenset(members)
