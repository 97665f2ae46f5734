"""Which tiles are worth trying for an attention, best guess first."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from tilesmith.playbook.recipe import Tuning

BLOCKS = ("BLOCK_M", "BLOCK_N")
_NAMES = (*BLOCKS, "NUM_WARPS", "NUM_STAGES")
Size = tuple[int, int, int, int]
"""BLOCK_M queries, BLOCK_N keys, warps, stages."""
_SPLIT: dict[int, tuple[Size, ...]] = {
    64: ((128, 64, 8, 2), (128, 64, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (128, 32, 8, 2), (64, 32, 4, 2)),
    128: ((64, 64, 8, 2), (128, 64, 8, 2), (128, 32, 8, 2), (32, 64, 4, 2), (64, 32, 4, 2), (32, 32, 4, 2)),
    256: ((32, 32, 8, 1), (64, 32, 8, 2), (16, 32, 4, 1), (32, 32, 4, 1)),
}
"""Of numbers that are two halves each, by the columns that queries and values have at most."""
_HALVES: dict[int, tuple[Size, ...]] = {
    64: ((128, 64, 4, 3), (128, 128, 8, 2), (128, 64, 8, 3), (64, 64, 4, 3), (64, 128, 4, 2), (64, 32, 4, 2)),
    128: ((128, 64, 8, 3), (128, 128, 8, 2), (128, 64, 8, 2), (64, 64, 4, 3), (128, 32, 8, 3), (64, 32, 4, 2)),
    256: ((64, 64, 8, 2), (128, 32, 8, 2), (128, 64, 8, 2), (64, 32, 4, 2), (32, 32, 4, 1)),
}
_FLOATS: dict[int, tuple[Size, ...]] = {
    64: ((64, 32, 4, 1), (64, 32, 4, 2), (32, 32, 4, 2), (64, 64, 8, 1), (32, 64, 4, 2), (16, 32, 4, 2)),
    128: ((32, 32, 4, 1), (32, 32, 4, 2), (16, 32, 4, 2), (16, 64, 4, 2), (64, 32, 8, 2), (16, 32, 4, 1)),
}
"""Of float32 numbers that are read as they are, of which 128 columns fit on chip."""


@dataclass(frozen=True)
class AttentionExtent:
    rows: int
    """Queries of a head."""
    keys: int
    depth: int
    """Columns of queries, as many as a block has."""
    width: int
    """Columns of values, as many as a block has."""
    number_bytes: int
    """That each number of an operand takes on chip."""
    is_split: bool
    shared_limit: float = inf

    def tunings(self) -> tuple[Tuning, ...]:
        table = _SPLIT if self.is_split else _FLOATS if self.number_bytes == 4 else _HALVES
        sizes = next(found for most, found in table.items() if max(self.depth, self.width, 64) <= most)
        height, breadth = _block(self.rows), _block(self.keys)
        found = [(min(size[0], height), min(size[1], breadth), *size[2:]) for size in sizes]
        fitting = [size for size in found if self._shared_bytes(size) <= self.shared_limit] or [found[-1]]
        return tuple(Tuning(tuple(zip(_NAMES, size, strict=True))) for size in dict.fromkeys(fitting))

    def _shared_bytes(self, size: Size) -> int:
        height, breadth, _, stages = size
        return self.number_bytes * (height * self.depth + stages * breadth * (self.depth + self.width))


def _block(count: int) -> int:
    """The smallest one that holds so many, of those that a tensor core takes."""
    return max(16, 1 << (count - 1).bit_length())


def vary(tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
    """Neighbors of a tuning that a stage may try."""
    stages, height, breadth = tuning["NUM_STAGES"], tuning["BLOCK_M"], tuning["BLOCK_N"]
    name, choices = {
        "memory": ("NUM_STAGES", (stages + 1, stages - 1)),
        "grid": ("BLOCK_M", (height * 2, height // 2)),
        "block": ("BLOCK_N", (breadth // 2,)),
    }.get(stage, ("NUM_WARPS", (4, 8)))
    least = 1 if name == "NUM_STAGES" else 16
    return tuple(tuning.changed(name, number) for number in choices if least <= number <= 256)
