"""Which float32 products may use TF32, for reference, baselines and budget alike.

`default` is PyTorch as people get it: TF32 in convolutions and cuDNN RNNs, not in matrix products. A CPU has no
TF32, so there its rounding is applied to the operands of the same operators: the error budget then allows what
it would allow on the GPU.
"""

from __future__ import annotations

from typing import Any

import torch

from tilesmith.worker.compat.torch_names import TorchFunctionMode

_CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}
_RECURRENT = {"gru", "lstm", "rnn_tanh", "rnn_relu"}
_PRODUCTS = {"linear", "matmul", "__matmul__", "mm", "bmm", "baddbmm", "addmm", "einsum", "bilinear"}
_ALLOWED = {
    "default": _CONVOLUTIONS | _RECURRENT,
    "ieee": set(),
    "tf32": _CONVOLUTIONS | _RECURRENT | _PRODUCTS,
}


def set_precision(precision: str) -> None:
    torch.backends.cudnn.allow_tf32 = precision != "ieee"
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"


def round_to_tf32(x: torch.Tensor) -> torch.Tensor:
    """Ten bits of mantissa, to nearest, ties away from zero: what cuBLAS and cuDNN do to their operands."""
    if x.dtype != torch.float32:
        return x
    bits = (x.contiguous().view(torch.int32) + 0x1000) & -0x2000
    return torch.where(x.isfinite(), bits.view(torch.float32), x)


class Tf32Emulation(TorchFunctionMode):
    """Runs a float32 module on the CPU with the rounding its GPU version would have."""

    def __init__(self, precision: str) -> None:
        super().__init__()
        self._rounded = _ALLOWED[precision]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in self._rounded:
            args, kwargs = _rounded(args), {name: _rounded(value) for name, value in kwargs.items()}
        return func(*args, **kwargs)


def _rounded(value: Any) -> Any:
    """Vectors stay: biases are added in float32, and products with a vector do not use tensor cores."""
    if isinstance(value, torch.Tensor):
        return round_to_tf32(value) if value.dim() > 1 else value
    if isinstance(value, list | tuple):
        return type(value)(_rounded(item) for item in value)
    return value
