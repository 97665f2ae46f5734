"""The inputs of timed calls: new values every call, at the same addresses, the same in every process.

Each call sees a mixture of two draws of the task's own inputs, scaled down a little, with a stretch of one copied
over: no answer to an earlier call, and no multiple of one, fits. Mixtures keep what inputs tend to be (positive,
at most one, triangular, symmetric); integers, masks and labels stay as they are.
"""

from __future__ import annotations

import random

import torch

from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.tensors.exchange import map_tensors, tensors_in
from tilesmith.worker.truth.draws import is_mask

_STRETCH = 64
"""One part in this many of a tensor is copied over."""
_LEAST_SCALE = 0.75


class TimingInputs:
    """Owns the tensors that timed calls are given."""

    def __init__(self, first: ForwardArguments, second: ForwardArguments | None) -> None:
        """Two draws of the same shapes; without a second one, the first is mixed with itself, rolled."""
        self.current: ForwardArguments = map_tensors(first, torch.clone)
        places, ones = tensors_in(self.current), [_as_sent(tensor) for tensor in tensors_in(first)]
        others = [_as_sent(tensor) for tensor in tensors_in(second)] if second is not None else []
        if [t.shape for t in others] != [t.shape for t in ones]:
            others = ones
        self._varied = [
            _VariedInput(place, one, other, _may_be_torn(one))
            for place, one, other in zip(places, ones, others, strict=True)
            if one.is_floating_point() and not is_mask(one)
        ]

    def under(self, seed: int) -> ForwardArguments:
        """What a call under this seed sees, until the next one."""
        self.vary(seed)
        return self.current

    def vary(self, seed: int) -> None:
        chance = random.Random(seed)
        for varied in self._varied:
            varied.renew(chance)


class _VariedInput:
    def __init__(self, place: torch.Tensor, one: torch.Tensor, other: torch.Tensor, may_be_torn: bool) -> None:
        self._place, self._one, self._other = place.detach(), one, other
        self._may_be_torn = may_be_torn and place.is_contiguous() and other.is_contiguous()

    def renew(self, chance: random.Random) -> None:
        scale = _LEAST_SCALE + (1 - _LEAST_SCALE) * chance.random()
        share = 0.5 + 0.5 * chance.random()
        torch.mul(self._one, scale * share, out=self._place.data)
        if self._other is self._one and self._may_be_torn:
            self._add_rolled(chance, scale * (1 - share))
        else:
            self._place.data.add_(self._other, alpha=scale * (1 - share))
        if self._may_be_torn:
            self._copy_stretch(chance)

    def _add_rolled(self, chance: random.Random, factor: float) -> None:
        """In two pieces: a rolled copy would take memory."""
        place, one, start = self._place.data.view(-1), self._one.view(-1), chance.randrange(1, self._place.numel())
        place[:-start].add_(one[start:], alpha=factor)
        place[-start:].add_(one[:start], alpha=factor)

    def _copy_stretch(self, chance: random.Random) -> None:
        count = max(1, self._place.numel() // _STRETCH)
        there, here = (chance.randrange(self._place.numel() - count + 1) for _ in range(2))
        self._place.data.view(-1)[here : here + count].copy_(self._other.view(-1)[there : there + count])


def _as_sent(tensor: torch.Tensor) -> torch.Tensor:
    """Elements that overlap come apart on the way to another process, and all must vary alike."""
    return tensor.detach().contiguous() if 0 in tensor.stride() else tensor.detach()


def _may_be_torn(tensor: torch.Tensor) -> bool:
    """Zeros and symmetry have their places; everything else may move. One zero in a million has none."""
    if tensor.numel() < 2 or int((tensor == 0).sum()) > tensor.numel() >> 20:
        return False
    square = tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2]
    return not (square and torch.equal(tensor, tensor.mT))
