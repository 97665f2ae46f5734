"""What kinds of kernel a task calls for, told by its operators.

The kinds are those of `lint.classify`, so lessons, exemplars and plans speak of the same things.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from tilesmith.records import Survey
from tilesmith.syntax import parse

TIME_LOOP = "time_loop"
"""Stands for a recurrence that a task writes as a Python loop over steps."""
OPS: Mapping[str, frozenset[str]] = {
    "persistent_recurrent": frozenset(
        {"gru", "lstm", "rnn", "rnn_tanh", "rnn_relu", "grucell", "lstmcell", "rnncell", TIME_LOOP}
        | {"_thnn_fused_gru_cell", "_thnn_fused_lstm_cell"}
    ),
    "attention": frozenset({"multiheadattention", "scaled_dot_product_attention", "_scaled_dot_product_attention"}),
    "convolution": frozenset(
        {"convolution", "_convolution", "cudnn_convolution", "conv1d", "conv2d", "conv3d"}
        | {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convtranspose2d", "convtranspose3d"}
    ),
    "gemm": frozenset({"mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "dot", "mv", "einsum", "bilinear"}),
    "scan": frozenset({"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}),
    "normalization": frozenset(
        {"_softmax", "_log_softmax", "softmax", "log_softmax", "logsumexp", "native_layer_norm", "layernorm"}
        | {"layer_norm", "native_group_norm", "groupnorm", "native_batch_norm", "batchnorm1d", "batchnorm2d"}
        | {"_native_batch_norm_legit", "_native_batch_norm_legit_no_training", "cudnn_batch_norm", "instancenorm2d"}
        | {"rms_norm", "_fused_rms_norm", "rmsnorm", "linalg_vector_norm"}
    ),
    "reduction": frozenset(
        {"sum", "mean", "amax", "amin", "max", "min", "prod", "argmax", "argmin", "norm", "var", "std", "var_mean"}
        | {"max_pool2d_with_indices", "avg_pool2d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "any", "all"}
    ),
}
"""Kinds by how much they decide about a kernel; whatever is in none of them is elementwise."""
KINDS = (*OPS, "elementwise")
_SOFTMAXES = frozenset({"_softmax", "softmax"})


def ops_of(survey: Survey) -> tuple[str, ...]:
    """The task's operators, most frequent first, without `aten.`; read from the source where none were counted."""
    counted = survey.profile.ops
    names = [name.removeprefix("aten.").rstrip("_") for name in counted] or list(_names_in(survey.source))
    return (*((TIME_LOOP,) if loops_over_time(survey.source) else ()), *dict.fromkeys(names))


def kinds_of(survey: Survey) -> tuple[str, ...]:
    """Most telling first; a task that only moves or maps elements is elementwise."""
    ops = ops_of(survey)
    found = {kind for kind, members in OPS.items() for op in ops if op in members}
    counted = survey.profile.ops.items()
    products = sum(number for op, number in counted if op.removeprefix("aten.") in OPS["gemm"])
    if any("scaled_dot_product" in op for op in ops) or (products >= 2 and _SOFTMAXES & set(ops)):
        found.add("attention")
    return tuple(kind for kind in OPS if kind in found) or ("elementwise",)


def kind_of_op(op: str) -> str:
    return next((kind for kind, members in OPS.items() if op in members), "elementwise")


@lru_cache(maxsize=64)
def loops_over_time(source: str) -> bool:
    """Whether a loop over a range indexes a tensor by its counter and hands a value on to its next turn."""
    tree = _parsed(source)
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.For)) if tree else ()
    return any(_is_recurrence(loop) for loop in loops)


def _is_recurrence(loop: ast.For) -> bool:
    if not isinstance(loop.target, ast.Name) or not _calls(loop.iter, "range"):
        return False
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    names = [node for node in inside if isinstance(node, ast.Name)]
    stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    carried = stored & {name.id for name in names if isinstance(name.ctx, ast.Load)} - {loop.target.id}
    steps = [node for node in inside if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)]
    indexed = any(loop.target.id in {n.id for n in ast.walk(s.slice) if isinstance(n, ast.Name)} for s in steps)
    return bool(carried) and indexed


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


@lru_cache(maxsize=64)
def _names_in(source: str) -> tuple[str, ...]:
    tree = _parsed(source)
    return tuple(dict.fromkeys(_identifiers(tree))) if tree else ()


def _identifiers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr.lower()
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id.lower()
        elif isinstance(node, ast.MatMult):
            yield "matmul"


def _parsed(source: str) -> ast.Module | None:
    try:
        return parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
