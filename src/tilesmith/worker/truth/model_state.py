"""Parameters and buffers: taken from the reference, perturbed, and given to the candidate.

A kernel that bakes in the initial weights, or assumes that a LayerNorm's weight is one, is wrong for every
trained model; perturbing every tensor on both sides alike shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from tilesmith.worker.compat.torch_names import storage_of

State = dict[str, torch.Tensor]
Alike = Callable[[torch.Tensor, torch.Tensor], bool]


class UnmatchedTensor(Exception):
    """The candidate owns a parameter that the reference cannot fill."""


@dataclass(frozen=True)
class Transfer:
    """Which tensor of the reference fills which tensor of the candidate, and how that was decided."""

    sources: dict[str, str]
    by_value: tuple[str, ...]
    by_shape: tuple[str, ...]
    transposed: frozenset[str] = frozenset()
    """Tensors of the candidate that hold the transpose of their source."""
    stale: dict[str, str] = field(default_factory=dict)
    """Copies that the constructor made of tensors the candidate also has: loading new weights misses them."""


def state_of(model: nn.Module) -> State:
    """Parameters, buffers, and plain tensor attributes with memory of their own, by dotted name. Writing into them
    is seen by the model."""
    state = {name: parameter.detach() for name, parameter in model.named_parameters()}
    state |= {name: buffer.detach() for name, buffer in model.named_buffers()}
    owned = {storage_of(tensor) for tensor in state.values()}
    for prefix, module in model.named_modules():
        for key, value in vars(module).items():
            if isinstance(value, torch.Tensor) and storage_of(value) not in owned:
                state.setdefault(f"{prefix}.{key}".lstrip("."), value.detach())
    return state


def clone_state(state: State) -> State:
    return {name: tensor.detach().clone() for name, tensor in state.items()}


def perturbed(state: State, parameters: set[str], seed: int, strongly: bool = False) -> State:
    """Every floating tensor moved away from its initial value; signs that matter (variances) are kept.

    `strongly` moves small ones as far as large ones: a scale that starts at 1e-6 hides all that it scales.
    """
    generator = torch.Generator().manual_seed(seed)
    return {
        name: _perturb(tensor, generator, strongly) if _may_move(tensor, name in parameters) else tensor.clone()
        for name, tensor in state.items()
    }


def _may_move(tensor: torch.Tensor, is_parameter: bool) -> bool:
    if not tensor.is_floating_point() or tensor.numel() == 0 or not bool(tensor.isfinite().all()):
        return False
    return is_parameter or not _looks_like_mask(tensor)


def _looks_like_mask(tensor: torch.Tensor) -> bool:
    zeros = tensor == 0
    return bool((zeros | (tensor == 1)).all()) and bool(zeros.any()) and not bool(zeros.all())


def _perturb(tensor: torch.Tensor, generator: torch.Generator, strongly: bool) -> torch.Tensor:
    value = tensor.detach().cpu().double()
    factor = 1 + 0.2 * torch.rand(value.shape, generator=generator, dtype=torch.float64)
    size = value.abs().mean().clamp(min=1.0 if strongly else 0.0, max=1.0)
    offset = 0.1 * (size if size > 0 else 1.0) * torch.randn(value.shape, generator=generator, dtype=torch.float64)
    positive = bool((value >= 0).all()) and bool((value > 0).any())
    return (value * factor + (offset.abs() if positive else offset)).to(tensor)


def match(candidate: State, parameters: set[str], reference: State) -> Transfer:
    """By name; else by equal values under the common seed; else by shape, in order of definition."""
    sources = {n: n for n, t in candidate.items() if n in reference and reference[n].shape == t.shape}
    free = {name: tensor for name, tensor in reference.items() if name not in sources.values()}
    open_names = [name for name in candidate if name not in sources]
    by_value = _pair(open_names, candidate, free, _same_values)
    by_value |= _pair([n for n in open_names if n not in by_value], candidate, free, _is_copy)
    open_names = [name for name in open_names if name not in by_value]
    by_shape = _pair([n for n in open_names if n in parameters], candidate, free, _same_shape)
    for name in open_names:
        if name in parameters and name not in by_shape:
            raise UnmatchedTensor(_unmatched(name, candidate[name], free))
    transposed = frozenset(n for n, key in by_value.items() if not _is_reshaped(candidate[n], reference[key]))
    stale = {n: k for n in open_names for k in sources.values() if _is_copy(candidate[n], reference[k])}
    return Transfer(sources | by_value | by_shape, tuple(by_value), tuple(by_shape), transposed, stale)


def _pair(names: list[str], candidate: State, free: State, alike: Alike) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for name in names:
        found = next((key for key, tensor in free.items() if alike(candidate[name], tensor)), None)
        if found is not None:
            pairs[name] = found
            del free[found]
    return pairs


def _same_shape(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and a.is_floating_point() == b.is_floating_point()


def _same_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal and telling: two tensors of ones say nothing about who is who."""
    return _is_telling(b) and a.shape == b.shape and torch.equal(a.to(b), b)


def _is_telling(b: torch.Tensor) -> bool:
    return b.numel() > 1 and b.is_floating_point() and bool((b != b.flatten()[0]).any())


def _is_copy(a: torch.Tensor, b: torch.Tensor) -> bool:
    """The same values reshaped, transposed or in another dtype, as kernels like to keep their weights."""
    if a.numel() != b.numel() or not a.is_floating_point() or not _is_telling(b):
        return False
    return _is_reshaped(a, b) or (b.dim() == 2 and _is_reshaped(a, b.mT))


def _is_reshaped(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.to(b.device).flatten(), b.to(a.dtype).flatten())


def _unmatched(name: str, tensor: torch.Tensor, free: State) -> str:
    left = ", ".join(f"{key} {tuple(value.shape)}" for key, value in list(free.items())[:6])
    rest = f"still free in Model: {left}" if left else "every tensor of Model is taken"
    return (
        f"parameter '{name}' {tuple(tensor.shape)} of ModelNew has no counterpart in Model ({rest}); "
        "keep Model's parameter names and shapes, and derive packed copies in forward"
    )


def fill(model: nn.Module, transfer: Transfer, values: State) -> None:
    """Give the candidate the reference's values, in place, so that views and tied weights stay tied."""
    with torch.no_grad():
        for name, tensor in state_of(model).items():
            if name in transfer.sources:
                value = values[transfer.sources[name]]
                tensor.copy_((value.mT if name in transfer.transposed else value).reshape(tensor.shape))
