"""Which tiles are worth trying for a convolution, best guess first."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from tilesmith.playbook.recipe import Tuning
from tilesmith.playbook.recipes.products.tiles import BLOCKS, MULTIPROCESSORS

_NAMES = (*BLOCKS, "NUM_WARPS", "NUM_STAGES")
Size = tuple[int, int, int, int, int, int]
"""BLOCK_M output channels, BLOCK_N places, BLOCK_K, GROUP, warps, stages."""
_MANY_CHANNELS: tuple[Size, ...] = (
    (128, 128, 64, 8, 8, 3),
    (128, 256, 64, 8, 8, 3),
    (128, 128, 64, 8, 4, 3),
    (256, 128, 64, 8, 8, 3),
    (128, 128, 32, 8, 4, 4),
    (128, 128, 32, 8, 8, 4),
)
_FEW_CHANNELS: tuple[Size, ...] = (
    (64, 128, 64, 8, 4, 4),
    (64, 256, 64, 8, 4, 3),
    (64, 256, 32, 8, 8, 4),
    (64, 128, 32, 8, 4, 5),
)
_SMALL: tuple[Size, ...] = (
    (128, 64, 64, 8, 4, 4),
    (64, 64, 64, 8, 4, 4),
    (64, 128, 64, 8, 4, 4),
    (64, 64, 32, 8, 4, 4),
    (32, 64, 64, 8, 4, 4),
)
_TWICE: tuple[Size, ...] = (
    (128, 128, 64, 8, 8, 3),
    (128, 128, 32, 8, 8, 4),
    (64, 128, 64, 8, 8, 3),
    (64, 128, 32, 8, 4, 4),
    (64, 64, 64, 8, 4, 3),
    (64, 64, 32, 8, 4, 3),
)
"""Of numbers that are two halves each."""
_DIRECT: tuple[Size, ...] = (
    (64, 128, 32, 8, 4, 3),
    (128, 128, 32, 8, 8, 3),
    (64, 64, 32, 8, 4, 4),
    (64, 128, 32, 8, 8, 3),
    (64, 128, 32, 8, 4, 2),
    (64, 64, 32, 8, 4, 2),
)
"""Of images that are read where they lie."""
_DIRECT_FEW: tuple[Size, ...] = (
    (1, 128, 32, 8, 4, 3),
    (1, 256, 32, 8, 8, 2),
    (1, 64, 32, 8, 4, 3),
    (1, 128, 32, 8, 4, 2),
    (2, 128, 32, 8, 4, 2),
)
"""Of such images with few output channels: BLOCK_M times as many as there are, or as two groups of them have."""
_DIRECT_SMALL: tuple[Size, ...] = ((64, 32, 32, 8, 4, 4), (32, 32, 32, 8, 4, 4), (32, 32, 64, 8, 4, 3))
"""Of such images where a result is small."""
_CROWDED: tuple[Size, ...] = (
    (128, 64, 64, 8, 8, 3),
    (64, 64, 64, 8, 4, 4),
    (64, 128, 64, 8, 8, 3),
    (128, 64, 64, 8, 4, 3),
)
"""Where a second tile is in registers, of what is added to the result or squared: larger ones spill."""
_WASTED = 1.25
"""How many times as many channels there may be for blocks of 32 to be whole."""


@dataclass(frozen=True)
class ConvolutionExtent:
    """How large a convolution is."""

    rows: int
    """Output channels, of a group."""
    columns: int
    """Places of all images."""
    channels: int
    width: int
    """How many bytes each number has on chip."""
    is_direct: bool = False
    """Whether images are read where they lie."""
    shared_limit: float = inf
    is_crowded: bool = False
    """Whether images are added to the result, or it is reduced."""
    groups: int = 1

    @property
    def unit(self) -> int:
        """To whole groups of how many channels an image is padded: a block of 32 or 64 of the sum is then at one
        place of the window, unless there are too few of them."""
        whole = [unit for unit in (64, 32) if _padded(self.channels, unit) <= _WASTED * self.channels]
        return whole[0] if whole else 8 if self.channels > 4 else 4

    def tunings(self) -> tuple[Tuning, ...]:
        many = _MANY_CHANNELS if self.rows > 64 else _FEW_CHANNELS
        sizes = _TWICE if self.width == 4 else many
        if self.is_direct:
            sizes = self._direct()
        elif self.rows <= 32:
            height = max(16, 1 << (self.rows - 1).bit_length())
            sizes = tuple((height, *size[1:]) for size in _TWICE[2:] + _FEW_CHANNELS)
        elif self.tiles(*sizes[0][:2]) < MULTIPROCESSORS:
            sizes = (*_SMALL, *sizes)
        if self.is_crowded and not self.is_direct and self.rows > 32:
            crowded = _CROWDED if self.tiles(*_CROWDED[0][:2]) >= MULTIPROCESSORS else _CROWDED[1:]
            crowded = tuple(size for size in crowded if size[0] <= max(64, self.rows))
            sizes = (*sizes, *crowded) if self.width == 4 else (*crowded, *sizes)
        deep = (
            sizes
            if self.is_direct
            else [(*size[:2], min(size[2], self.unit) if self.unit >= 32 else size[2], *size[3:]) for size in sizes]
        )
        fitting = [size for size in deep if self._shared_bytes(size) <= self.shared_limit] or [deep[-1]]
        return tuple(Tuning(tuple(zip(_NAMES, size, strict=True))) for size in dict.fromkeys(fitting))

    def _direct(self) -> tuple[Size, ...]:
        height = max(16, 1 << (self.rows - 1).bit_length())
        if height > 32:
            sizes = tuple(size for size in _DIRECT if size[0] <= max(64, self.rows))
        else:
            few = _DIRECT_FEW if self.groups > 1 else _DIRECT_FEW[:-1]
            sizes = tuple((height * size[0], *size[1:]) for size in few)
        if self.tiles(*sizes[0][:2]) < MULTIPROCESSORS:
            sizes = (*((min(height, size[0]), *size[1:]) for size in _DIRECT_SMALL), *sizes)
        return sizes

    def tiles(self, height: int, width: int) -> int:
        packed = min(self.groups, max(1, height // self.rows))
        return -(-self.groups // packed) * -(-self.rows * packed // height) * -(-self.columns // width)

    def _shared_bytes(self, size: Size) -> int:
        height, width, depth, _, _, stages = size
        return stages * (height + width) * depth * self.width


def _padded(number: int, unit: int) -> int:
    return -(-number // unit) * unit
