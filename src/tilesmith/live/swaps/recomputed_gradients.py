"""Gradients for a kernel that has none: its forward pass, and a backward pass that runs the original again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from tilesmith.live.calls.nests import refilled, tensors_in


class RecomputedGradients(torch.autograd.Function):
    """Its first argument is a `_Call`, the others are the tensors that may need gradients."""

    @classmethod
    def run(
        cls,
        module: nn.Module,
        original: Callable[..., Any],
        run_kernel: Callable[[], Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        given = tensors_in([args, kwargs])
        call = _Call(original, run_kernel, args, kwargs, len(given))
        outputs = iter(cls.apply(call, *given, *module.parameters()))
        return refilled(call.nest, outputs)

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: torch.Tensor) -> Any:
        ctx.call = call
        ctx.save_for_backward(*tensors)
        call.nest = call.run_kernel()
        outputs = tuple(tensors_in(call.nest))
        ctx.mark_non_differentiable(*(one for one in outputs if not one.is_floating_point()))
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> Any:
        call: _Call = ctx.call
        saved = ctx.saved_tensors
        given = [one.detach().requires_grad_(one.requires_grad) for one in saved[: call.inputs]]
        parameters = list(saved[call.inputs :])
        with torch.enable_grad():
            args, kwargs = refilled([call.args, dict(call.kwargs)], iter(given))
            outputs = tensors_in(call.original(*args, **kwargs))
        wanted = [one for one in (*given, *parameters) if one.requires_grad]
        pairs = [(y, g) for y, g in zip(outputs, gradients, strict=True) if g is not None and y.requires_grad]
        found = iter(
            torch.autograd.grad([y for y, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True)
            if pairs
            else [None] * len(wanted)
        )
        return None, *(next(found) if one.requires_grad else None for one in (*given, *parameters))


class _Call:
    """One call: how to run it either way, and the nest of its outputs once it has run."""

    def __init__(
        self,
        original: Callable[..., Any],
        run_kernel: Callable[[], Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        inputs: int,
    ) -> None:
        self.original, self.run_kernel = original, run_kernel
        self.args, self.kwargs, self.inputs = args, kwargs, inputs
        self.nest: Any = None
