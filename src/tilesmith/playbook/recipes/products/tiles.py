"""Which tiles are worth trying for a product, best guess first."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from tilesmith.playbook.recipe import Tuning

BLOCKS = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP")
HALF_TYPES = ("float16", "bfloat16")
_NAMES = (*BLOCKS, "NUM_WARPS", "NUM_STAGES")
Size = tuple[int, int, int, int, int, int]
"""BLOCK_M, BLOCK_N, BLOCK_K, GROUP, warps, stages. Rows of halves are padded to whole blocks of 64."""
_LARGE: tuple[Size, ...] = (
    (128, 128, 64, 8, 8, 3),
    (128, 128, 32, 8, 8, 4),
    (128, 64, 64, 8, 8, 3),
    (64, 128, 64, 8, 8, 3),
    (64, 64, 64, 8, 4, 4),
    (128, 128, 32, 8, 8, 3),
    (64, 64, 64, 8, 4, 2),
    (64, 64, 32, 8, 4, 2),
)
_SMALL: tuple[Size, ...] = (
    (64, 64, 64, 8, 4, 3),
    (32, 64, 64, 8, 4, 4),
    (64, 32, 64, 8, 4, 4),
)
_SHORT: tuple[Size, ...] = ((64, 64, 64, 8, 4, 1), (64, 128, 64, 8, 4, 1), (128, 64, 64, 8, 8, 1))
"""Of sums over few steps: programs side by side hide what stages of one program cannot."""
_SHORT_DEPTH = 128
_LONG: tuple[Size, ...] = (
    (64, 64, 32, 8, 4, 4),
    (64, 64, 32, 8, 4, 3),
    (64, 32, 32, 8, 4, 4),
    (32, 64, 32, 8, 4, 4),
)
_LONG_TILES = 12
"""A result with more tiles than these reads its factors so often that they had better be halves beforehand."""
_FEW_ROWS: tuple[Size, ...] = (
    (16, 64, 32, 1, 4, 6),
    (16, 32, 64, 1, 4, 4),
    (16, 128, 32, 1, 4, 4),
    (16, 32, 32, 1, 4, 6),
    (16, 64, 32, 1, 4, 3),
)
_MORE_ROWS: tuple[Size, ...] = (
    (16, 64, 32, 1, 4, 6),
    (16, 128, 32, 1, 8, 5),
    (16, 32, 32, 1, 4, 6),
    (16, 64, 32, 1, 4, 3),
)
"""BLOCK_M is as many rows as there are. A float32 number is two or three others in registers: tiles are small."""
_ONE_ROW: tuple[Size, ...] = (
    (1, 4, 1024, 1, 4, 3),
    (1, 2, 2048, 1, 4, 3),
    (1, 8, 512, 1, 4, 3),
    (1, 16, 256, 1, 4, 3),
)
_ONE_ROW_ACROSS: tuple[Size, ...] = ((1, 64, 64, 1, 4, 3), (1, 128, 32, 1, 4, 3), (1, 32, 128, 1, 4, 3))
"""Where columns of the result are neighbors in memory, not numbers of one sum."""
_FEW_HALF_ROWS: tuple[Size, ...] = (
    (16, 64, 128, 1, 4, 4),
    (16, 32, 128, 1, 4, 5),
    (16, 128, 64, 1, 4, 5),
    (16, 32, 256, 1, 4, 3),
    (16, 64, 64, 1, 4, 3),
)
_DESCRIBED: tuple[Size, ...] = (
    (128, 256, 64, 8, 8, 3),
    (128, 256, 64, 8, 8, 4),
    (256, 128, 64, 8, 8, 3),
    (128, 128, 64, 8, 8, 4),
)
"""Of halves that the GPU copies by itself; half a tile of results waits in shared memory, too."""
MULTIPROCESSORS = 132
"""With fewer tiles than this a GPU is not full."""
MANY_ROWS = 64
"""With fewer rows the time goes into reading the weights."""
FEW_ROWS = 16
"""With no more, a float32 number is two TF32 ones: less work than three bfloat16 ones, which multiply faster."""
_LEAST_CHUNK = 512


@dataclass(frozen=True)
class Extent:
    """How large a product is, and what may be done about it."""

    batches: int
    rows: int
    """In one matrix."""
    columns: int
    depth: int
    is_half: bool
    may_split: bool
    shared_limit: float = inf
    one_row: bool = False
    """Whether a single row is multiplied as it is read, without a tensor core."""
    is_across: bool = False
    """Whether columns of the result are neighbors in memory, not numbers of one sum."""
    staying: int = 0
    """How many programs may stay for many tiles that they read through descriptors; none where that is no use."""

    @property
    def is_direct(self) -> bool:
        """Whether numbers are multiplied as they are, and not as halves made beforehand."""
        return self.is_half or self.rows < MANY_ROWS or self._is_long

    @property
    def _is_long(self) -> bool:
        """Whether a small result is a long sum of float32: making halves would take longer than the product."""
        is_small = self.rows >= MANY_ROWS and self._tiles(64, 64) <= _LONG_TILES
        return is_small and self.may_split and not self.is_half and self.depth >= 2 * _LEAST_CHUNK

    def tunings(self) -> tuple[Tuning, ...]:
        sizes = _LARGE
        if self.one_row:
            sizes = _ONE_ROW_ACROSS if self.is_across else _ONE_ROW
        elif self.rows < MANY_ROWS:
            height = max(16, 1 << (self.rows - 1).bit_length())
            few = _FEW_HALF_ROWS if self.is_half else _FEW_ROWS if height <= FEW_ROWS else _MORE_ROWS
            sizes = tuple((height, *size[1:]) for size in few)
        elif self._is_long:
            sizes = _LONG
        elif self._tiles(128, 128) < MULTIPROCESSORS:
            sizes = (*_SMALL, *_LARGE)
        if not self.is_direct and self.depth <= _SHORT_DEPTH:
            sizes = (*_SHORT, *sizes)
        fitting = [size for size in sizes if self._shared_bytes(size) <= self.shared_limit] or [sizes[-1]]
        found = [Tuning(tuple(zip(_NAMES, size, strict=True))) for size in fitting]
        split = [tuning for tuning in map(self._split, found) if tuning is not None]
        first, *others = dict.fromkeys((*split, *found))
        return (first, *self._staying(), *others)

    def _staying(self) -> list[Tuning]:
        """The safe choice comes first, and these before its neighbors."""
        if not self.staying or self._tiles(128, 128) < self.staying:
            return []
        room = self.shared_limit
        fitting = [size for size in _DESCRIBED if self._shared_bytes(size) + size[0] * size[1] <= room]
        named = [tuple(zip(_NAMES, size, strict=True)) for size in fitting]
        return [Tuning((*one, ("PROGRAMS", self.staying))) for one in named]

    def _split(self, tuning: Tuning) -> Tuning | None:
        """Cut along the sum until every multiprocessor has enough programs, where the result has few tiles."""
        programs = self._tiles(tuning["BLOCK_M"], tuning["BLOCK_N"])
        wanted = 3 if self._is_long else 4 if self.is_direct else 2
        most = min(wanted * MULTIPROCESSORS // programs, self.depth // max(_LEAST_CHUNK, tuning["BLOCK_K"]))
        return Tuning((*tuning.values, ("SPLITS", most))) if most > 1 and self.may_split else None

    def _tiles(self, height: int, width: int) -> int:
        return self.batches * -(-self.rows // height) * -(-self.columns // width)

    def _shared_bytes(self, size: Size) -> int:
        height, width, depth, _, _, stages = size
        return stages * (height + width) * depth * (2 if self.is_half else 4)  # or two halves


def vary(tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
    """Neighbors of a tuning that a stage may try."""
    stages, splits = tuning["NUM_STAGES"], dict(tuning.values).get("SPLITS", 1)
    name, choices = {
        "memory": ("NUM_STAGES", (stages + 1, stages - 1)),
        "grid": ("SPLITS", (2 * splits, splits // 2)) if splits > 1 else ("GROUP", (4, 16)),
    }.get(stage, ("NUM_WARPS", (4, 8)))
    return tuple(tuning.changed(name, number) for number in choices if number not in (0, 1, tuning[name]))
