"""Global switches of torch that change results: a candidate that flips one changes the rules of the comparison."""

from __future__ import annotations

from typing import Any

import torch


def switches() -> dict[str, Any]:
    """Each switch by the name a user knows it under."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    return {
        "torch.backends.cuda.matmul.allow_tf32": matmul.allow_tf32,
        "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction": (
            matmul.allow_fp16_reduced_precision_reduction
        ),
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction": (
            matmul.allow_bf16_reduced_precision_reduction
        ),
        "torch.backends.cuda.matmul.allow_fp16_accumulation": getattr(matmul, "allow_fp16_accumulation", None),
        "torch.backends.cudnn.allow_tf32": cudnn.allow_tf32,
        "torch.backends.cudnn.enabled": cudnn.enabled,
        "torch.set_float32_matmul_precision": torch.get_float32_matmul_precision(),
        "torch.set_default_dtype": torch.get_default_dtype(),
        "torch.autocast": torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu"),
        "torch.use_deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "torch.autograd.set_detect_anomaly": torch.is_anomaly_enabled(),
        "a torch function mode": torch._C._len_torch_function_stack(),
        "a torch dispatch mode": torch._C._len_torch_dispatch_stack(),
    }


def flipped(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    return next((name for name, value in before.items() if after[name] != value), None)
