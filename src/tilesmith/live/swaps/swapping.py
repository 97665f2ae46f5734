"""A guarded kernel in place of `forward`, on one instance of a module: its class and everybody else keep their own.

Parameters, state_dict, hooks and names stay as they are, because the module stays what it is. A deep copy and an
unpickled module have the plain `forward` of their class. A shallow copy (`copy.copy`, `nn.DataParallel`) shares the
swapped one and with it the weights of the original.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

import torch
from torch import nn

from tilesmith.errors import UsageError
from tilesmith.live.calls.call_description import (
    attributes_of,
    bind_arguments,
    describe_object,
    names_in_code,
    signature_of,
    tensors_at,
)
from tilesmith.live.calls.call_records import KernelCard
from tilesmith.live.calls.nests import map_tensors
from tilesmith.live.calls.torch_names import (
    buffer_table,
    child_table,
    count_modes,
    functorch_interpreter,
    has_dual_tensors,
    has_global_hooks,
    has_hooks,
    is_batched,
    parameter_table,
    remember_tensors,
    renew_flat_weights,
)
from tilesmith.live.swaps.guard_text import GuardText, default_name, owners_of, write_guard
from tilesmith.live.swaps.kernel_files import bind_tensors, interprets
from tilesmith.live.swaps.recomputed_gradients import RecomputedGradients


class GuardedKernel(NamedTuple):
    """One kernel on one module, and how its calls went."""

    card: KernelCard
    text: GuardText
    forward: Callable[..., Any]
    hits: list[int]
    misses: list[int]
    place: SwappedForward

    def misses_by_reason(self) -> dict[str, int]:
        return {why: count for why, count in zip(self.text.reasons, self.misses, strict=True) if count}

    def remove(self) -> None:
        self.place.remove(self)

    def forget_calls(self) -> None:
        self.hits[0], self.misses[:] = 0, [0] * len(self.misses)


class SwappedForward:
    """Stands in the place of `forward` on an instance; several kernels are asked one after another."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.original = MethodType(type(module).forward, module)
        self.kernels: tuple[GuardedKernel, ...] = ()
        self.first: Callable[..., Any] = self.original
        self.__signature__ = inspect.signature(self.original)
        self.__wrapped__ = self.original
        self.__code__ = type(module).forward.__code__  # torch.export reads it

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.first(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """The copy is plain: its kernel would have the weights of the original."""
        if id(self.module) not in memo:
            raise UsageError("copy the module rather than its forward, or undo the swap before")
        return MethodType(type(self.module).forward, memo[id(self.module)])

    def __reduce__(self) -> Any:
        """Unpickled as what it replaced, where tilesmith need not be installed."""
        return getattr, (self.module, "forward")

    def remove(self, kernel: GuardedKernel) -> None:
        """The other kernels stay. Somebody who has kept this forward, to wrap it, gets the original."""
        self.set_kernels(tuple(one for one in self.kernels if one is not kernel))
        if not self.kernels and vars(self.module).get("forward") is self:
            del self.module.forward

    def set_kernels(self, kernels: tuple[GuardedKernel, ...]) -> None:
        """The last is asked first; of two for the same calls the later one stands in for the earlier."""
        self.kernels, self.first = kernels, self.original
        for number, one in enumerate(kernels):
            if all(later.card.spec != one.card.spec for later in kernels[number + 1 :]):
                one.forward.__globals__["_original"] = self.first
                self.first = one.forward


def refuse_replaced_forward(module: nn.Module) -> None:
    found = vars(module).get("forward")
    if found not in (None, MethodType(type(module).forward, module)) and not isinstance(found, SwappedForward):
        raise UsageError("somebody else has replaced its forward already")


def swap_in(module: nn.Module, kernel: nn.Module, card: KernelCard, grad: str = "fallback") -> GuardedKernel:
    """Raises UsageError in one line where the kernel cannot stand in for the module's `forward`."""
    refuse_replaced_forward(module)
    for one in module.modules():  # a copy of a swapped module keeps the forward of its class on itself
        if vars(one).get("forward") == MethodType(type(one).forward, one):
            del one.forward
    swapped = vars(module).get("forward")
    bind_tensors(kernel, card.prefix, module)
    swapped = swapped or SwappedForward(module)
    names = _names(module, card)
    text = write_guard(module, card.spec, signature_of(module), card.flat, grad == "recompute")
    hits, misses = [0], [0] * len(text.reasons)
    run_kernel = _with_live_weights(kernel)
    traceable = not interprets()  # torch.compile traces Triton's kernels, but not those of its interpreter
    names |= {
        "_kernel": run_kernel if traceable else torch.compiler.disable(run_kernel),
        "_original": swapped.original,
        "_with_gradients": _with_gradients(module, run_kernel, card),
        "_hits": hits,
        "_misses": misses,
    }
    exec(compile(text.source, f"<guard of {card.spec.module_class}>", "exec"), names)
    guarded = GuardedKernel(card, text, names["forward"], hits, misses, swapped)
    swapped.set_kernels((*swapped.kernels, guarded))
    module.forward = swapped
    return guarded


def _names(module: nn.Module, card: KernelCard) -> dict[str, Any]:
    """Everything that a guard's text speaks of."""
    inside = dict(module.named_modules(remove_duplicate=False))
    names: dict[str, Any] = {
        "_count_modes": count_modes,
        "_functorch_interpreter": functorch_interpreter,
        "_has_dual_tensors": has_dual_tensors,
        "_has_global_hooks": has_global_hooks,
        "_has_hooks": has_hooks,
        "_is_batched": is_batched,
        "_known": [lambda *_: False] * (len(card.spec.inputs) + len(card.spec.tensors) + 1),
        "_remember": remember_tensors,
    }
    for parameter in signature_of(module).parameters.values():
        names[default_name(parameter.name)] = parameter.default
    for owner, number in owners_of(card.spec).items():
        if owner not in inside:
            raise UsageError(f"the module has nothing called {owner}, which the kernel was made for")
        names[f"_module_{number}"] = inside[owner]
        names[f"_forward_{number}"] = type(inside[owner]).forward
        names[f"_attributes_{number}"] = vars(inside[owner])
        names[f"_parameters_{number}"] = parameter_table(inside[owner])
        names[f"_buffers_{number}"] = buffer_table(inside[owner])
        names[f"_children_{number}"] = child_table(inside[owner])
        tables = (
            vars(inside[owner]),
            *(names[f"_{one}_{number}"] for one in ("parameters", "buffers", "children")),
        )
        names[f"_absent_{number}"] = names_in_code(type(inside[owner])).difference(*tables, ["forward"])
    held = dict(attributes_of(module)) if card.spec.objects else {}
    for number, (name, described) in enumerate((card.spec.objects or {}).items()):
        found = describe_object(held.get(name))
        if found != described:
            raise UsageError(f"its {name} is {found}, and the kernel was made for {described}")
        names[f"_object_{number}"] = map_tensors(held[name], lambda tensor: tensor)  # a list as it is now
    return names


def _with_live_weights(kernel: nn.Module) -> Callable[..., Any]:
    """Its forward, which finds the module's parameters in the lists of recurrent layers as well."""
    layers = [inner for inner in kernel.modules() if isinstance(inner, nn.RNNBase)]
    if not layers:
        return kernel.forward

    @torch.compiler.disable
    def forward(*args: Any, **kwargs: Any) -> Any:
        for layer in layers:
            renew_flat_weights(layer)
        return kernel.forward(*args, **kwargs)

    return forward


def _with_gradients(module: nn.Module, kernel: Callable[..., Any], card: KernelCard) -> Callable[..., Any]:
    @torch.compiler.disable
    def forward(*args: Any, **kwargs: Any) -> Any:
        def run_kernel() -> Any:
            if not card.flat:
                return kernel(*args, **kwargs)
            bound = bind_arguments(module, args, kwargs).arguments
            return kernel(*tensors_at(bound, card.spec.arguments))

        return RecomputedGradients.run(module, run_kernel, args, kwargs)

    return forward
