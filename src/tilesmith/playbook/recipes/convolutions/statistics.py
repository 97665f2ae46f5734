"""Convolutions that are normalized by statistics of themselves: those of a channel over all images.

The kernel that convolves stores what each of its tiles says about its channels, a second one puts that together,
and a third one normalizes, with what follows. Squares are relative to the mean of their own tile: nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.graph.placement import PlacedValue
from tilesmith.playbook.graph.steps import PRODUCT
from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.convolutions.writing import ConvolutionText
from tilesmith.playbook.recipes.shared_rows import among
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import StoredOutput, Tile, write_store, write_value
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
MOST_COLUMNS = 1 << 22
"""Of a channel, whose tiles one program puts together."""
_TOGETHER = 2048
"""Numbers that a program puts together."""
_WRITTEN = 2048
"""Numbers that a program normalizes."""


@dataclass(frozen=True)
class NormalizedWriter:
    fused: FusedKernel
    text: ConvolutionText

    @cached_property
    def _statistics(self) -> tuple[Statistic, ...]:
        return find_statistics(self.fused.placer.values)

    @property
    def _kept(self) -> list[str]:
        return [f"{name}_part" for one in self._statistics for name, _ in one.stored]

    @property
    def _wide(self) -> list[StoredOutput]:
        return [one for one in self.fused.outputs if one.value.is_wide]

    @property
    def _totals(self) -> list[StoredOutput]:
        """What is put together: results, and what the last kernel needs."""
        results = [one for one in self.fused.outputs if not one.value.is_wide]
        needed = [one.value for one in self._statistics if one.value in self._written]
        return results + [StoredOutput(one, f"{one.name}_total_ptr", one.step, "rows") for one in needed]

    @cached_property
    def _written(self) -> set[PlacedValue]:
        """All that the last kernel needs, statistics as they are."""
        known, found = {one.value for one in self._statistics}, set[PlacedValue]()
        waiting = [one.value for one in self._wide]
        while waiting:
            value = waiting.pop()
            if value not in found:
                found.add(value)
                waiting += [one for one in value.operands if isinstance(one, PlacedValue) and value not in known]
        return found

    def write(self, prefix: str) -> KernelParts:
        """The last kernel, with those before it among its helpers."""
        kernels = [self._parts(prefix), self._together(prefix), *([self._last(prefix)] if self._wide else [])]
        *before, last = kernels
        helpers = (*self.text.helpers, *self.fused.helpers, *(render_kernel(one) for one in before))
        results = ", ".join(one.name for one in self.fused.outputs)
        launcher = [
            *self.fused.signature(),
            *self.text.head,
            *self.fused.allocations(),
            *(line for one in kernels for line in one.launcher),
            f"    return {results}",
        ]
        return KernelParts(
            last.name, last.pointers, last.sizes, last.scalars, last.meta, last.body, helpers, tuple(launcher)
        )

    def _parts(self, prefix: str) -> KernelParts:
        """Convolves, and says what each tile says."""
        fused, text = self.fused, self.text
        *opening, rows = text.opening
        found = write_parts(fused.placer, _TILE, self._statistics, loops=False)
        first = ["first = part * BLOCK_N"] if any("first" in line for line in found) else []
        keep = [f"tl.store(convolved_ptr + rows * N + cols, {self._product.name}, mask=mask)"] if self._wide else []
        body = (*opening, "part = tl.min(cols, axis=0) // BLOCK_N", rows, *first, *keep, *found)
        loaded = list_loaded(fused, find_read(self._statistics))
        stored = [*(["convolved"] if self._wide else []), *self._kept]
        near = f"filters.new_empty((filters.shape[0], N), dtype=torch.{self._product.step.computed_in[3:]})"
        launcher = [
            f"    PARTS = triton.cdiv(N, {prefix}BLOCK_N)",
            *([f"    convolved = {near}"] if self._wide else []),
            *write_empty_parts(self._statistics, "(filters.shape[0], PARTS)", "filters"),
            *fused.call(
                f"{fused.name}_parts_kernel[{text.grid}]",
                [*text.factors, *loaded],
                stored,
                [*text.given, "PARTS=PARTS"],
                text.constants,
                body,
            ),
        ]
        return KernelParts(
            name=f"{fused.name}_parts",
            pointers=(*text.pointers, *(f"{name}_ptr" for name in (*loaded, *stored))),
            sizes=(*text.sizes, "PARTS", *among(fused.index_sizes, body)),
            scalars=among((number.name for number in fused.scalars), body),
            meta=text.meta,
            body=body,
            helpers=(),
            launcher=tuple(launcher),
        )

    @property
    def _product(self) -> PlacedValue:
        return next(one for one in self.fused.placer.values if one.step.op == PRODUCT)

    def _together(self, prefix: str) -> KernelParts:
        """Every statistic of a channel, from its parts."""
        fused, totals = self.fused, self._totals
        body = (
            "rows = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]",
            "mask_m = rows < M",
            *write_together(fused.placer, _TILE, self._statistics, totals),
        )
        loaded = list_loaded(fused, find_written(totals))
        kinds = [(one.name, one.value.step.computed_in[3:]) for one in totals if one not in fused.outputs]
        launcher = [
            *(f"    {name} = filters.new_empty((filters.shape[0],), dtype=torch.{kind})" for name, kind in kinds),
            "    BLOCK_PARTS = triton.next_power_of_2(PARTS)",
            f"    ROWS = max(1, {_TOGETHER} // BLOCK_PARTS)",
            *fused.call(
                f"{fused.name}_{'together_' if self._wide else ''}kernel[(triton.cdiv(filters.shape[0], ROWS),)]",
                [*loaded, *self._kept],
                [one.name for one in totals],
                ["filters.shape[0]", *among(["N"], body), "PARTS"],
                [
                    *(f"{name}={prefix}{name}" for name in among(["BLOCK_N"], body)),
                    *("ROWS=ROWS", "BLOCK_PARTS=BLOCK_PARTS", "num_warps=4 if BLOCK_PARTS <= 4096 else 16"),
                ],
                body,
            ),
        ]
        return KernelParts(
            name=f"{fused.name}_together" if self._wide else fused.name,
            pointers=tuple(f"{name}_ptr" for name in (*loaded, *self._kept, *(one.name for one in totals))),
            sizes=("M", *among(["N"], body), "PARTS", *among(fused.index_sizes, body)),
            scalars=among((number.name for number in fused.scalars), body),
            meta=(*among(["BLOCK_N: tl.constexpr"], body), "ROWS: tl.constexpr", "BLOCK_PARTS: tl.constexpr"),
            body=body,
            helpers=(),
            launcher=tuple(launcher),
        )

    def _last(self, prefix: str) -> KernelParts:
        """Normalizes, with what follows."""
        fused, known = self.fused, {one.value for one in self._statistics}
        body = [
            "tiles = tl.cdiv(N, BLOCK_N)",
            "rows = ((tl.program_id(0) // tiles).to(tl.int64) + tl.arange(0, 1))[:, None]",
            "cols = ((tl.program_id(0) % tiles).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]",
            "mask_m, mask_n = rows < M, cols < N",
            "mask = mask_m & mask_n",
        ]
        for value in fused.placer.values:
            if value.step.op == PRODUCT:
                body.append(f"{value.name} = tl.load(convolved_ptr + rows * N + cols, mask=mask)")
            elif value in known and value in self._written:
                body.append(f"{value.name} = tl.load({value.name}_total_ptr + rows, mask=mask_m)")
            elif value in self._written:
                body.append(write_value(_TILE, value, {}))
        body += [write_store(_TILE, output) for output in self._wide]
        totals = [one.name for one in self._totals if one not in fused.outputs]
        inputs = ["convolved", *totals, *list_loaded(fused, self._written - known)]
        tiles = f"filters.shape[0] * triton.cdiv(N, {_WRITTEN})"
        return KernelParts(
            name=fused.name,
            pointers=tuple(f"{name}_ptr" for name in (*inputs, *(one.name for one in self._wide))),
            sizes=("M", "N", *among(fused.index_sizes, body)),
            scalars=among((number.name for number in fused.scalars), body),
            meta=("BLOCK_N: tl.constexpr",),
            body=tuple(body),
            helpers=(),
            launcher=tuple(
                fused.call(
                    f"{fused.name}_kernel[({tiles},)]",
                    inputs,
                    [one.name for one in self._wide],
                    ["filters.shape[0]", "N"],
                    [f"BLOCK_N={_WRITTEN}", "num_warps=8"],
                    body,
                )
            ),
        )
