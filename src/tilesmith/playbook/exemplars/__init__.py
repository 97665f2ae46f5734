"""Whole kernel files that were judged: what an author is shown to start from.

They are texts, never imported: each imports torch and triton, and is run only by a judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

MYPY_LINE = "# mypy: ignore-errors\n"
"""Kernels are no typed Python; nobody who reads one to learn needs to see that said."""


@dataclass(frozen=True)
class Exemplar:
    """One kernel file and the operators it shows how to do."""

    name: str
    ops: tuple[str, ...]
    """As PyTorch dispatches them, without `aten.`; `time_loop` is a recurrence written in Python."""
    source: str


INDEX: Mapping[str, tuple[str, ...]] = {
    "elementwise": (
        "add", "sub", "mul", "div", "relu", "gelu", "silu", "sigmoid", "tanh", "hardtanh", "hardswish", "elu",
        "leaky_relu", "exp", "log", "clamp", "clamp_min", "where", "pow", "softplus", "mish", "neg", "abs",
        "sqrt", "rsqrt",
    ),
    "row_softmax": (
        "_softmax", "_log_softmax", "logsumexp", "sum", "mean", "amax", "amin", "max", "min", "prod", "argmax",
        "argmin", "linalg_vector_norm", "norm", "var", "std", "var_mean", "cumsum", "any", "all",
    ),
    "layernorm": (
        "native_layer_norm", "layer_norm", "rms_norm", "_fused_rms_norm", "native_group_norm", "group_norm",
        "native_batch_norm", "_native_batch_norm_legit_no_training", "cudnn_batch_norm", "instance_norm",
    ),
    "linear_gelu": (
        "mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "dot", "mv", "einsum", "_scaled_dot_product_attention",
        "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
    ),
    "gru_persistent": (
        "gru", "lstm", "rnn_tanh", "rnn_relu", "_thnn_fused_gru_cell", "_thnn_fused_lstm_cell", "time_loop",
    ),
    "conv_relu_pool": (
        "convolution", "_convolution", "conv1d", "conv2d", "conv3d", "cudnn_convolution", "conv_transpose2d",
        "max_pool2d_with_indices", "avg_pool2d", "max_pool3d_with_indices", "adaptive_avg_pool2d",
    ),
}  # fmt: skip


@cache
def exemplars() -> Mapping[str, Exemplar]:
    """All exemplars by name."""
    return {name: Exemplar(name, ops, _source(name)) for name, ops in INDEX.items()}


def _source(name: str) -> str:
    text = (files(__package__) / f"{name}.py").read_text(encoding="utf-8")
    return text.removeprefix(MYPY_LINE)
