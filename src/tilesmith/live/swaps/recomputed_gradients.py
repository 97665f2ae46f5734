"""Gradients for a kernel that has none: its forward pass, and a backward pass that runs the original again.

The original runs on a copy of the module: the same code, settings and modes as at the kernel's call, whatever has
become of the module since, with copies of its tensors, so that hooks on parameters run once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from tilesmith.live.calls.nests import refilled, tensors_in
from tilesmith.live.calls.torch_names import renew_flat_weights, tensor_tables, with_own_tables


class RecomputedGradients(torch.autograd.Function):
    """Its first argument is a `_Call`, the others are the tensors that may need gradients."""

    @classmethod
    def run(
        cls, module: nn.Module, run_kernel: Callable[[], Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        call = _Call(with_own_tables(module), run_kernel, args, kwargs)
        outputs = iter(cls.apply(call, *tensors_in([args, kwargs]), *call.owned()))
        return refilled(call.nest, outputs)

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: torch.Tensor) -> Any:
        ctx.call = call
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        call.nest = call.run_kernel()
        outputs = tuple(tensors_in(call.nest))
        ctx.mark_non_differentiable(*(one for one in outputs if not one.is_floating_point()))
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("recomputed gradients have none of their own: load the kernel with grad='fallback'")
        given = [one.detach().requires_grad_(one.requires_grad) for one in ctx.saved_tensors]
        with torch.enable_grad():
            outputs = ctx.call.run_original(iter(given))
        if not _leaves(outputs) <= set(map(id, given)):
            raise RuntimeError(
                "the module's code reaches its parameters around itself (a list of modules, a bound method), and "
                "their gradients would be lost: load its kernel with grad='fallback'"
            )
        wanted = [one for one in given if one.requires_grad]
        pairs = [(y, g) for y, g in zip(outputs, gradients, strict=True) if g is not None]
        if any(not y.requires_grad for y, _ in pairs):
            raise RuntimeError("a gradient of what the module detaches: load its kernel with grad='fallback'")
        found = iter(torch.autograd.grad([y for y, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True))
        return None, *(next(found) if one.requires_grad else None for one in given)


def _leaves(outputs: Sequence[torch.Tensor]) -> set[int]:
    """The tensors whose gradients a backward pass would reach, by identity."""
    steps: list[Any] = [one.grad_fn for one in outputs]
    seen: set[Any] = {None}
    for step in steps:
        if step not in seen:
            seen.add(step)
            steps += [before for before, _ in step.next_functions]
    return {id(step.variable) for step in seen if hasattr(step, "variable")}


class _Call:
    """One call: how to run it either way, and the nest of its outputs once it has run."""

    def __init__(
        self, copied: nn.Module, run_kernel: Callable[[], Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self.copied, self.run_kernel, self.args, self.kwargs = copied, run_kernel, args, kwargs
        self.nest: Any = None

    def owned(self) -> list[torch.Tensor]:
        return [tensor for table in tensor_tables(self.copied) for tensor in table.values() if tensor is not None]

    def run_original(self, tensors: Iterator[torch.Tensor]) -> list[torch.Tensor]:
        args, kwargs = refilled([self.args, dict(self.kwargs)], tensors)
        for table in tensor_tables(self.copied):
            table |= {key: next(tensors) for key, tensor in table.items() if tensor is not None}
        for one in self.copied.modules():
            if isinstance(one, nn.RNNBase):
                renew_flat_weights(one)
        return tensors_in(self.copied.forward(*args, **kwargs))
