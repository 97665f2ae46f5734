"""Products of which only what their rows come to is wanted: sums, maxima, logarithms of sums of exponentials.

A kernel reduces every tile and stores one number for each of its rows; a second one puts the tiles of a row
together. The product itself is never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.products.tiles import BLOCKS
from tilesmith.playbook.recipes.products.writing import ProductWriter
from tilesmith.playbook.recipes.shared_rows import among
from tilesmith.playbook.writing.kernel_body import Tile
from tilesmith.playbook.writing.kernel_file import render_kernel
from tilesmith.playbook.writing.row_parts import (
    Statistic,
    find_read,
    find_statistics,
    find_written,
    list_loaded,
    write_empty_parts,
    write_parts,
    write_together,
)

_TILE = Tile("rows", "cols", True)
_ROWS = (
    "rows = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]",
    "mask_m = rows < M",
)
_TOGETHER = 2048
"""Numbers that a program puts together."""


@dataclass(frozen=True)
class ReducingProductWriter:
    product: ProductWriter

    @cached_property
    def _statistics(self) -> tuple[Statistic, ...]:
        return find_statistics(self.product.fused.placer.values)

    @property
    def _kept(self) -> list[str]:
        return [f"{name}_part" for one in self._statistics for name, _ in one.stored]

    def write(self, prefix: str) -> KernelParts:
        """The second kernel, with the first among its helpers."""
        fused, scheme = self.product.fused, self.product.scheme
        first, second = self._parts_body(), self._body()
        kept = tuple(f"{name}_ptr" for name in self._kept)
        parts = KernelParts(
            name=f"{fused.name}_parts",
            pointers=(*scheme.pointers, *(f"{name}_ptr" for name in self._loaded), *kept),
            sizes=("M", "N", *scheme.sizes, "PARTS", *among(fused.index_sizes, first)),
            scalars=among((number.name for number in fused.scalars), first),
            meta=tuple(f"{name}: tl.constexpr" for name in BLOCKS),
            body=first,
            helpers=(),
            launcher=(),
        )
        return KernelParts(
            name=fused.name,
            pointers=(
                *(f"{name}_ptr" for name in self._loaded_last),
                *kept,
                *(output.pointer for output in fused.outputs),
            ),
            sizes=("M", *among(["N"], second), "PARTS", *among(fused.index_sizes, second)),
            scalars=among((number.name for number in fused.scalars), second),
            meta=(*among(["BLOCK_N: tl.constexpr"], second), "ROWS: tl.constexpr", "BLOCK_PARTS: tl.constexpr"),
            body=second,
            helpers=(*scheme.helpers, *fused.helpers, render_kernel(parts)),
            launcher=tuple(self._launcher(prefix, first, second)),
        )

    @property
    def _loaded(self) -> list[str]:
        return list_loaded(self.product.fused, find_read(self._statistics))

    @property
    def _loaded_last(self) -> list[str]:
        return list_loaded(self.product.fused, find_written(self.product.fused.outputs))

    def _parts_body(self) -> tuple[str, ...]:
        *opening, rows = self.product.opening()
        found = write_parts(self.product.fused.placer, _TILE, self._statistics, loops=False)
        first = ["first = part * BLOCK_N"] if "first" in " ".join(found) else []
        return (*opening, "part = tl.min(cols, axis=0) // BLOCK_N", rows, *first, *found)

    def _body(self) -> tuple[str, ...]:
        fused = self.product.fused
        return (*_ROWS, *write_together(fused.placer, _TILE, self._statistics, fused.outputs))

    def _launcher(self, prefix: str, first: Sequence[str], second: Sequence[str]) -> list[str]:
        fused, scheme = self.product.fused, self.product.scheme
        results = [output.name for output in fused.outputs]
        constants = [f"{name}={prefix}{name}" for name in BLOCKS]
        constants += [f"num_warps={prefix}NUM_WARPS", f"num_stages={prefix}NUM_STAGES"]
        return [
            *self.product.head(),
            f"    PARTS = triton.cdiv(N, {prefix}BLOCK_N)",
            *write_empty_parts(self._statistics, "(M, PARTS)", fused.leaves[0].name),
            *fused.call(
                f"{fused.name}_parts_kernel[(triton.cdiv(M, {prefix}BLOCK_M) * PARTS,)]",
                [*scheme.factors, *self._loaded],
                self._kept,
                ["M", "N", *scheme.given_sizes, "PARTS"],
                constants,
                first,
            ),
            "    BLOCK_PARTS = triton.next_power_of_2(PARTS)",
            f"    ROWS = max(1, {_TOGETHER} // BLOCK_PARTS)",
            *fused.call(
                f"{fused.name}_kernel[(triton.cdiv(M, ROWS),)]",
                [*self._loaded_last, *self._kept],
                results,
                ["M", *among(["N"], second), "PARTS"],
                [
                    *(f"{name}={prefix}{name}" for name in among(["BLOCK_N"], second)),
                    "ROWS=ROWS",
                    "BLOCK_PARTS=BLOCK_PARTS",
                    "num_warps=4",
                ],
                second,
            ),
            f"    return {', '.join(results)}",
        ]
