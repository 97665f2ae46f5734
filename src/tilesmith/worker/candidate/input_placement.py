"""The inputs as a candidate sees them: between pads on a GPU, or at the addresses of the call before.

Whether it changed them is told by a fingerprint of their bits: a copy of each would take too much memory.
"""

from __future__ import annotations

import torch

from tilesmith.worker.candidate.guarded_memory import WORDS, GuardedMemory
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.tensors import exchange

Fingerprints = dict[str, list[torch.Tensor]]
"""By the input's label, two sums for each of its tensors."""
_CHUNK = 1 << 24


class PlacedInputs:
    """Remembers where the inputs of the last call lie."""

    def __init__(self) -> None:
        self._last: tuple[GuardedMemory, ForwardArguments] | None = None

    def lay_out(
        self, values: ForwardArguments, pads: str | None, in_place: bool
    ) -> tuple[GuardedMemory, ForwardArguments]:
        if in_place and self._last is not None and _refilled(self._last[1], values):
            return self._last
        guard = GuardedMemory(pads)
        padded = [
            exchange.map_tensors(value, lambda t, label=label: guard.padded(t, label))
            for label, value in values.labeled()
        ]
        count = len(values.args)
        self._last = guard, ForwardArguments(padded[:count], dict(zip(values.kwargs, padded[count:], strict=True)))
        return self._last


def fingerprints(values: ForwardArguments) -> Fingerprints:
    """Of the tensors of each input. They stay where the tensors are: nobody waits for the GPU."""
    return {
        label: [_fingerprint(tensor) for tensor in exchange.tensors_in(value)] for label, value in values.labeled()
    }


def changed(before: Fingerprints, after: Fingerprints) -> list[str]:
    """The labels of inputs that are not what they were."""
    labels = [label for label in before for _ in before[label]]
    if not labels:
        return []
    pairs = [pair for label in before for pair in zip(before[label], after[label], strict=True)]
    differ = torch.stack([(one.to(other.device) != other).any() for one, other in pairs]).tolist()
    return list(dict.fromkeys(label for label, differs in zip(labels, differ, strict=True) if differs))


def _refilled(places: ForwardArguments, values: ForwardArguments) -> bool:
    """Whether new values could be put where the old ones are. Through `.data`, so that no version counts it."""
    if _form(places) != _form(values):
        return False
    for place, value in zip(exchange.tensors_in(places), exchange.tensors_in(values), strict=True):
        place.data.copy_(value)
    return True


def _form(values: ForwardArguments) -> str:
    """All but the values of the tensors."""
    return repr(exchange.map_tensors(values, lambda t: (tuple(t.shape), t.stride(), t.dtype)))


def _fingerprint(tensor: torch.Tensor) -> torch.Tensor:
    """Two sums over its bits, one of them by position; integers wrap around, and a NaN equals itself."""
    words = tensor.detach().contiguous().reshape(-1).view(WORDS[tensor.element_size()])
    sums = torch.zeros(2, dtype=torch.int64, device=tensor.device)
    for start in range(0, words.numel(), _CHUNK):
        part = words[start : start + _CHUNK].long()
        positions = torch.arange(start + 1, start + 1 + part.numel(), device=part.device)
        sums += torch.stack([part.sum(), (part * positions).sum()])
    return sums
