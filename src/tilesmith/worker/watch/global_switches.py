"""Global switches of torch that change results: a candidate that flips one changes the rules of the comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tilesmith.worker.compat.torch_names import count_dispatch_modes, count_function_modes

_MATMUL, _CUDNN = torch.backends.cuda.matmul, torch.backends.cudnn
_SWITCHES: dict[str, Callable[[], Any]] = {
    "torch.backends.cuda.matmul.allow_tf32": lambda: _MATMUL.allow_tf32,
    "torch.backends.cuda.matmul.fp32_precision": lambda: _MATMUL.fp32_precision == "tf32",
    "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction": lambda: (
        _MATMUL.allow_fp16_reduced_precision_reduction
    ),
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction": lambda: (
        _MATMUL.allow_bf16_reduced_precision_reduction
    ),
    "torch.backends.cuda.matmul.allow_fp16_accumulation": lambda: _MATMUL.allow_fp16_accumulation,
    "torch.backends.cudnn.allow_tf32": lambda: _CUDNN.allow_tf32,
    "torch.backends.cudnn.enabled": lambda: _CUDNN.enabled,
    "torch.set_float32_matmul_precision": torch.get_float32_matmul_precision,
    "torch.set_default_dtype": torch.get_default_dtype,
    "torch.autocast": lambda: torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu"),
    "torch.use_deterministic_algorithms": torch.are_deterministic_algorithms_enabled,
    "torch.autograd.set_detect_anomaly": torch.is_anomaly_enabled,
    "a torch function mode": count_function_modes,
    "a torch dispatch mode": count_dispatch_modes,
}
"""By the name a user knows each under."""


def switches() -> dict[str, Any]:
    return {name: _state(ask) for name, ask in _SWITCHES.items()}


def _state(ask: Callable[[], Any]) -> Any:
    """Old and new ways to set the same thing exclude one another: then torch refuses to say."""
    try:
        return ask()
    except (RuntimeError, AttributeError) as error:
        return f"cannot be told: {type(error).__name__}"


def flipped(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    return next((name for name, value in before.items() if after[name] != value), None)
