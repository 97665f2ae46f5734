"""Running a task in float64 although it was written for something narrower."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import nn

from tilesmith.worker.compat.torch_names import TorchFunctionMode

_NARROW = (torch.float32, torch.float16, torch.bfloat16)


class FloatWidening(TorchFunctionMode):
    """Inside a float64 run, a hard-coded `.float()` or `dtype=torch.float32` must not narrow the truth, nor may a
    tensor that is made without naming a type, such as `torch.zeros(2, 3)`."""

    def __enter__(self) -> Self:
        self._default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        torch.set_default_dtype(self._default)
        super().__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {key: _wide(value) for key, value in (kwargs or {}).items()}
        if getattr(func, "__name__", "") in ("float", "half", "bfloat16"):
            return args[0].double()
        return func(*(_wide(value) for value in args), **kwargs)


def _wide(value: Any) -> Any:
    return torch.float64 if value in _NARROW and isinstance(value, torch.dtype) else value


def widened(tensor: torch.Tensor, device: str) -> torch.Tensor:
    return tensor.to(device, torch.float64 if tensor.dtype in _NARROW else tensor.dtype, copy=True)


def widen_attributes(model: nn.Module, device: str) -> None:
    """Tensors kept as plain attributes (an initial hidden state, say), which `double()` passes over."""
    for module in model.modules():
        for key, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                setattr(module, key, widened(value, device))
