"""A product with what follows it as text: the kernel's body and the function that launches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilesmith.playbook.graph.indices import grouped
from tilesmith.playbook.graph.placement import PlacedValue
from tilesmith.playbook.graph.sums.factors import Product
from tilesmith.playbook.graph.symbols import Dim
from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.products.operands import ComputedOperand
from tilesmith.playbook.recipes.products.schemes import Scheme
from tilesmith.playbook.recipes.products.tiles import BLOCKS
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import Tile, write_on_one_tile

_COMBINED = (8, 128)
"""The tile of a program that adds up chunks."""
TILE = Tile("rows", "cols", False)
MASKS = ("mask_m, mask_n = (rows < M)[:, None], (cols < N)[None, :]", "mask = mask_m & mask_n")


@dataclass(frozen=True)
class ProductWriter:
    fused: FusedKernel
    product: Product
    computed: dict[str, ComputedOperand]
    scheme: Scheme
    halves: str = ""
    """Of the left factor, where the launcher is given them."""

    @property
    def _is_batched(self) -> bool:
        return any(self.product.batch.dims)

    def write(self, prefix: str, split: bool) -> KernelParts:
        fused, scheme = self.fused, self.scheme
        return KernelParts(
            name=fused.name,
            pointers=(*(("parts_ptr",) if split else self.own(scheme.pointers)), *fused.pointers),
            sizes=("M", "N", *(() if split else scheme.sizes), *(f"{n}: tl.constexpr" for n in self._sizes)),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(f"{name}: tl.constexpr" for name in ((*BLOCKS[:2], "SPLITS") if split else BLOCKS)),
            body=tuple(self._body(split)),
            helpers=scheme.helpers,
            launcher=tuple(self._launcher(prefix, split)),
        )

    @property
    def _sizes(self) -> dict[str, Dim]:
        """What index arithmetic needs, in the tile and in factors that are computed."""
        found: dict[str, Dim] = {}
        for sizes in (*(one.sizes for one in self.computed.values()), self.fused.placer.sizes):
            if any(found.get(name, dim) != dim for name, dim in sizes.items()):
                raise Unmatched("has two sizes of one name")
            found |= sizes
        return found

    def own(self, names: Sequence[str]) -> tuple[str, ...]:
        """Tensors, or pointers, that the tile does not read by itself."""
        read = {name for step in self.fused.loaded for name in (step.name, f"{step.name}_ptr")}
        return tuple(name for name in names if name not in read)

    def _size(self, side: str, axis: int) -> str:
        factor = self.product.left if side == "left" else self.product.right
        if side in self.computed:
            return self.fused.product(factor.form.dims[axis])
        return f"{side}.shape[{axis}]"

    @property
    def value(self) -> PlacedValue:
        """The product on the tile."""
        return next(value for value in self.fused.placer.values if value.step is self.product.step)

    def _body(self, split: bool) -> list[str]:
        epilogue = write_on_one_tile(self.fused.placer, TILE, self.fused.outputs)
        return [*self.opening(split), *epilogue]

    def opening(self, split: bool = False) -> list[str]:
        """Of a kernel: the product of its tile."""
        scheme, batched, value = self.scheme, self._is_batched, self.value
        group = "1" if split else "GROUP"
        number = "tl.program_id(0) % tiles" if batched else "tl.program_id(0)"
        lines = [f"rows, cols = find_tile({number}, M, N, BLOCK_M, BLOCK_N, {group})"]
        if batched:
            lines[:0] = [
                "tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)",
                "batch = (tl.program_id(0) // tiles).to(tl.int64)",
            ]
        if split:
            return [
                *lines,
                *MASKS,
                "rows, cols = rows[:, None], cols[None, :]",
                f"{value.name} = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
                "for chunk in range(SPLITS):",
                f"    {value.name} += tl.load(parts_ptr + (chunk * M + rows) * N + cols, mask=mask, other=0.0)",
            ]
        multiply = [line.replace("RESULT", value.name) for line in scheme.multiply]
        rows = "(batch * M + rows)[:, None]" if batched else "rows[:, None]"
        return [*lines, *multiply, *MASKS, f"rows, cols = {rows}, cols[None, :]"]

    def head(self) -> list[str]:
        """Of the function that launches it: all that is prepared."""
        fused, product, batch = self.fused, self.product, self.product.batch.dims
        sides = {"left": product.left, "right": product.right}
        plain = {side: factor.source for side, factor in sides.items() if side not in self.computed}
        flat = not batch and product.left.form.rank > 2
        sizes = [
            *([f"    {', '.join(plain)} = {', '.join(plain.values())}"] if plain else []),
            f"    K = {self._size('left', -1) if 'left' in plain else self._size('right', -1)}",
            f"    M, N = {'left.numel() // K' if flat else self._size('left', -2)}, {self._size('right', -2)}",
            *(f"    {line}" for line in self.scheme.host),
        ]
        computed = [leaf for one in self.computed.values() for leaf in one.leaves]
        return [*fused.signature(self.halves), *fused.preparation(computed), *sizes, *fused.allocations()]

    def _launcher(self, prefix: str, split: bool) -> list[str]:
        fused, scheme, head = self.fused, self.scheme, self.head()
        blocks = [f"{name}={prefix}{name}" for name in BLOCKS]
        options = [f"num_warps={prefix}NUM_WARPS", f"num_stages={prefix}NUM_STAGES"]
        tiles = f"triton.cdiv(M, {prefix}BLOCK_M) * triton.cdiv(N, {prefix}BLOCK_N)"
        axes = [axis for dim in self.product.batch.dims for axis in dim]
        batches = " * ".join(grouped(fused.product((axis,))) for axis in axes)
        if not split:
            more = {name: dim for name, dim in self._sizes.items() if name not in fused.placer.sizes}
            grid = f"({tiles}{f' * {batches}' if batches else ''},)"
            return [
                *head,
                *fused.launch(
                    grid,
                    [
                        "M",
                        "N",
                        *scheme.given_sizes,
                        *(f"{name}={fused.product(dim)}" for name, dim in more.items()),
                    ],
                    [*blocks, *options],
                    self.own(scheme.factors),
                ),
            ]
        height, width = _COMBINED
        splits = f"{prefix}SPLITS"
        return [
            *head,
            f"    parts = torch.empty(({splits}, M, N), dtype=torch.float32, device={fused.leaves[0].name}.device)",
            f"    {scheme.parts_kernel}[({tiles} * {splits},)](",
            f"        {', '.join([*scheme.factors, 'parts', 'M', 'N', *scheme.given_sizes])},",
            f"        {', '.join([*blocks, *options])},",
            "    )",
            *fused.launch(
                f"(triton.cdiv(M, {height}) * triton.cdiv(N, {width}),)",
                ["M", "N"],
                [f"BLOCK_M={height}", f"BLOCK_N={width}", f"SPLITS={splits}", "num_warps=4"],
                ["parts"],
            ),
        ]
