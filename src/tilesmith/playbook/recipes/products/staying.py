"""Products of halves by programs that stay for many tiles, which the GPU copies by itself: tensor descriptors.

The next tile is on its way while a program finishes the last one. Results leave the same way where their rows begin
at multiples of 16 bytes.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.products.tiles import BLOCKS, HALF_TYPES
from tilesmith.playbook.recipes.products.writing import MASKS, TILE, ProductWriter
from tilesmith.playbook.writing.kernel_body import StoredOutput, find_needed, write_on_one_tile, write_store

_META = ("LEFT_TURNED", "RIGHT_TURNED", *BLOCKS, "PROGRAMS")


@dataclass(frozen=True)
class StayingProductWriter:
    product: ProductWriter

    def write(self, prefix: str) -> KernelParts:
        fused, scheme = self.product.fused, self.product.scheme
        return KernelParts(
            name=fused.name,
            pointers=(*scheme.pointers, *fused.pointers, *self._described_names),
            sizes=("M", "N", *scheme.sizes, *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(f"{name}: tl.constexpr" for name in _META),
            body=tuple(self._body()),
            helpers=(*scheme.helpers, self._finishing_function()),
            launcher=tuple(self._launcher(prefix)),
        )

    @property
    def _described(self) -> tuple[StoredOutput, ...]:
        """Outputs that are stored through descriptors."""
        halves = [output for output in self.product.fused.outputs if output.step.dtype in HALF_TYPES]
        whole = [output for output in halves if output.address == "rows * N + cols"]
        return tuple(one for one in whole if self.product.value in find_needed([one.value], lambda _: True))

    @property
    def _described_names(self) -> tuple[str, ...]:
        return tuple(f"{output.name}_tiles" for output in self._described)

    @property
    def _finishing(self) -> str:
        return f"finish_{self.product.fused.name}"

    @property
    def _passed_on(self) -> tuple[str, ...]:
        """What the kernel hands to the function that finishes a tile."""
        fused = self.product.fused
        numbers = (number.name for number in fused.scalars)
        return (*fused.pointers, *self._described_names, "M", "N", *fused.placer.sizes, *numbers)

    def _body(self) -> list[str]:
        name = self.product.value.name
        inside = [
            "first_row, first_col = find_corner(number, M, N, BLOCK_M, BLOCK_N, GROUP)",
            *(line.replace("RESULT", name) for line in self.product.scheme.multiply),
            f"near, far = split_columns({name}, BLOCK_M, BLOCK_N)",
        ]
        for half, first in (("near", "first_col"), ("far", "first_col + BLOCK_N // 2")):
            given = [half, "first_row", first, *self._passed_on, "BLOCK_M", "BLOCK_N // 2"]
            wrapped = textwrap.wrap(", ".join(given), 98, break_long_words=False)
            inside += [f"{self._finishing}(", *(f"    {line}" for line in wrapped), ")"]
        return [
            "tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)",
            "for number in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):",
            *(f"    {line}" for line in inside),
        ]

    def _finishing_function(self) -> str:
        fused, described = self.product.fused, self._described
        constants = (*fused.placer.sizes, *BLOCKS[:2])
        names = (self.product.value.name, "first_row", "first_col", *self._passed_on, *BLOCKS[:2])
        lines = [
            '"""What follows the product, for half a tile: a whole one would take too many registers."""',
            "rows = first_row.to(tl.int64) + tl.arange(0, BLOCK_M)",
            "cols = first_col.to(tl.int64) + tl.arange(0, BLOCK_N)",
            *MASKS,
            "rows, cols = rows[:, None], cols[None, :]",
            *write_on_one_tile(fused.placer, TILE, [one for one in fused.outputs if one not in described]),
        ]
        for output in described:
            held = f"{output.value.name}.to({output.pointer}.dtype.element_ty)"
            lines += [
                f"if {output.name}_tiles is not None:",
                f"    {output.name}_tiles.store([first_row, first_col], {held})",
                "else:",
                f"    {write_store(TILE, output)}",
            ]
        parameters = [f"    {name}: tl.constexpr," if name in constants else f"    {name}," for name in names]
        head = ["@triton.jit", f"def {self._finishing}(", *parameters, "):"]
        return "\n".join([*head, *(f"    {line}" for line in lines)])

    def _launcher(self, prefix: str) -> list[str]:
        fused, scheme = self.product.fused, self.product.scheme
        results = [output.name for output in fused.outputs]
        block = f"[{prefix}BLOCK_M, {prefix}BLOCK_N // 2]"
        tiles = f"triton.cdiv(M, {prefix}BLOCK_M) * triton.cdiv(N, {prefix}BLOCK_N)"
        constants = ["LEFT_TURNED=left_turned", "RIGHT_TURNED=right_turned"]
        constants += [f"{name}={prefix}{name}" for name in (*BLOCKS, "PROGRAMS")]
        return [
            *self.product.head(),
            *(
                f"    {name}_tiles = TensorDescriptor({name}, [M, N], [N, 1], {block}) if N % 8 == 0 else None"
                for name in (output.name for output in self._described)
            ),
            *fused.call(
                f"{fused.name}_kernel[(min({prefix}PROGRAMS, {tiles}),)]",
                [*scheme.factors, *(step.name for step in fused.loaded)],
                [*results, *self._described_names],
                ["M", "N", *scheme.given_sizes],
                [*constants, f"num_warps={prefix}NUM_WARPS", f"num_stages={prefix}NUM_STAGES"],
            ),
            f"    return {', '.join(results)}",
        ]
