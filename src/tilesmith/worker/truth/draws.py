"""Draws: the inputs a candidate is checked on.

Besides the task's own inputs under fresh seeds there are variations of them, because many tasks draw from
[0, 1) and such inputs cannot tell a ReLU from the identity or show an overflow in an unguarded exp.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from tilesmith.tasks.draws import ALL_DRAWS, CORNERS_DRAW
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.loading import seed_everything
from tilesmith.worker.tensors.exchange import map_tensors, tensors_in

_CORNER_ELEMENTS = 64

Variation = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def draw_inputs(make_inputs: Callable[[], ForwardArguments], kind: str, seed: int) -> ForwardArguments:
    """The task's inputs under `seed`, varied as `kind` says; integer inputs keep the task's own range."""
    if kind == CORNERS_DRAW:
        own, other = (draw_inputs(make_inputs, draw, seed) for draw in ("own", "own again"))
        return _with_corners_of(own, other)
    position = ALL_DRAWS.index(kind)
    seed_everything(seed + 7919 * position)
    inputs = make_inputs()
    variation = _VARIATIONS.get(kind)
    if variation is None:
        return inputs

    def vary(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point() or is_mask(tensor):
            return tensor
        generator = torch.Generator(tensor.device).manual_seed(seed + position)
        varied = variation(tensor, generator).to(tensor.dtype)
        if not tensor.is_contiguous() or not _is_finite(tensor):
            varied = torch.where(tensor.isfinite(), varied, tensor)
        return _mirrored(varied) if _is_symmetric(tensor) else varied

    return map_tensors(inputs, vary)


def _with_corners_of(own: ForwardArguments, other: ForwardArguments) -> ForwardArguments:
    """`own` with other numbers in the middle of its floating tensors, where both are of the same shape."""
    others = iter(tensors_in(other))

    def mix(tensor: torch.Tensor) -> torch.Tensor:
        middle = next(others, tensor)
        ends = min(_CORNER_ELEMENTS, tensor.numel() // 4)
        if not ends or tensor.shape != middle.shape or not tensor.is_floating_point() or is_mask(tensor):
            return tensor
        if _is_symmetric(tensor):
            return tensor
        mixed = middle.to(tensor).clone(memory_format=torch.contiguous_format).view(-1)
        flat = tensor.reshape(-1)
        mixed[:ends], mixed[-ends:] = flat[:ends], flat[-ends:]
        return mixed.view(tensor.shape)

    return map_tensors(own, mix)


def _scaled(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    return x * 4


def _shifted(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    return _moved_by(x, 2)


def _moved_by(x: torch.Tensor, deviations: int) -> torch.Tensor:
    """Zeros stay: those of a triangular matrix are part of the task, and a kernel may skip them."""
    spread = x.float().std() if x.numel() > 1 else torch.ones(())
    moved = x + deviations * spread.nan_to_num(1.0).clamp(min=0.1).to(x)
    return torch.where(x == 0, x, moved) if bool((x != 0).any()) else moved


def _wild(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Heavy tails and both signs."""
    noise = torch.randn(x.shape, generator=generator, device=x.device).clamp_(-3, 3).exp_()
    return _times(x, noise.mul_(_signs(x, generator)))


def _sparse(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    keep = torch.rand(x.shape, generator=generator, device=x.device) < 0.6
    return _times(x, keep * _signs(x, generator))


def _signs(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    signs = torch.randint(0, 2, x.shape, generator=generator, device=x.device, dtype=torch.int8)
    return signs.mul_(2).sub_(1)


def _times(x: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """In the memory of the factors, where `x` is laid out like them: inputs may be of gigabytes."""
    factors = factors.to(x)
    return factors.mul_(x) if x.is_contiguous() else x * factors


def _large(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    """Beyond clamps, caps and thresholds that the task's own inputs never reach."""
    return x * 64


def _tiny(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    """So small that an epsilon or an additive term is what is left."""
    return x / 64


def _offset(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    return _moved_by(x, 8)


def _spread(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Every row and every column of a magnitude of its own: no row is like its neighbor."""
    for dim in {0, x.dim() - 1} if x.dim() else ():
        shape = [n if i == dim else 1 for i, n in enumerate(x.shape)]
        powers = torch.rand(shape, generator=generator, device=x.device) * 6 - 3
        x = x * powers.exp2().to(x)
    return x


def _peaked(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A few values far above the rest, so that a softmax has a peak and a maximum has a winner."""
    chosen = torch.rand(x.shape, generator=generator, device=x.device) < 1 / 64
    return torch.where(chosen, x * 64, x)


def _heavy(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Tails like a Cauchy distribution's, as far as a half type can hold them."""
    above, below = (torch.randn(x.shape, generator=generator, device=x.device) for _ in range(2))
    return _times(x, above.div_(below).nan_to_num_(1.0).clamp_(-200, 200))


_VARIATIONS: dict[str, Variation] = {
    "scaled": _scaled,
    "wild": _wild,
    "shifted": _shifted,
    "sparse": _sparse,
    "large": _large,
    "tiny": _tiny,
    "offset": _offset,
    "spread": _spread,
    "peaked": _peaked,
    "heavy": _heavy,
}


def is_mask(tensor: torch.Tensor) -> bool:
    """Two whole values and both present: a mask or labels (0 and 1, -1 and 1), which a variation would destroy."""
    if tensor.numel() < 2:
        return False
    low, high = (float(end) for end in tensor.detach().aminmax())
    if not low < high or not low.is_integer() or not high.is_integer():
        return False
    return bool(((tensor == low) | (tensor == high)).all())


def _is_finite(x: torch.Tensor) -> bool:
    """By its ends: `isfinite` takes more memory than the tensor itself."""
    return not x.numel() or all(bool(end.isfinite()) for end in x.detach().aminmax())


def _is_symmetric(x: torch.Tensor) -> bool:
    """A matrix that equals its transpose by intent: a kernel may read either half."""
    return x.dim() >= 2 and 1 < x.shape[-1] == x.shape[-2] and torch.equal(x, x.mT)


def _mirrored(x: torch.Tensor) -> torch.Tensor:
    return x.triu() + x.triu(1).mT
