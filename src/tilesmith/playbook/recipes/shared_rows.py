"""Rows that programs share: a kernel that says what every part of a row says, and one that puts that together.

Where the programs of a row fit on a GPU at once, one kernel does both: every program holds its part on chip and
waits for the others, so that a row is read once. Where rows fit in the L2, programs take turns in a queue: some
reduce the next parts while others write those that came before, and read them from the L2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.writing.fused_kernel import FusedKernel, names_in
from tilesmith.playbook.writing.kernel_body import Tile
from tilesmith.playbook.writing.kernel_file import render_kernel
from tilesmith.playbook.writing.row_parts import (
    APART,
    HELD,
    PART,
    QUEUED,
    Statistic,
    find_read,
    find_statistics,
    find_written,
    list_loaded,
    may_loop,
    write_arrival,
    write_before_wait,
    write_empty_parts,
    write_parts,
    write_together,
    write_wait,
)

ROW = "row = tl.program_id(0).to(tl.int64)  # M * N may pass 2**31"
WAYS = {"PART_N": APART, "HELD_N": HELD, "QUEUE_N": QUEUED}
"""How rows are shared, by the constant that says how long a part is."""
MOST_PARTS = 8192
"""Parts of a row that a program puts together at once."""
_MOST_PROGRAMS = 4096
"""That sum up: more would only leave more sums."""
_LARGEST_OFFSET = 2**31 - 2**15
_TICKET = 'tl.atomic_add(arrived_ptr, 1, sem="acquire")  # by arrival: nobody waits for one that has not begun'
_BLOCK_PARTS = "BLOCK_PARTS=triton.next_power_of_2(PARTS)"


@dataclass(frozen=True)
class SharedRows:
    fused: FusedKernel
    tile: Tile
    """One row, or everything where it has no `lead`."""
    counts: list[str]
    """Lines of the launcher that find N, and M where there are several rows."""
    length: int
    """Of a row in the task."""
    prefix: str
    way: str
    """How: `APART`, `HELD` or `QUEUED`."""
    by_parts: bool
    """Whether a kernel of its own writes the same part of all rows, then the next: what they share is read once."""

    @cached_property
    def _statistics(self) -> tuple[Statistic, ...]:
        return find_statistics(self.fused.placer.values)

    @cached_property
    def _writes_rows(self) -> bool:
        return any(output.value.is_wide for output in self.fused.outputs)

    @cached_property
    def _loops(self) -> bool:
        """Whether a part may have several tiles."""
        return may_loop(self._statistics) and not self._writes_rows

    @property
    def _held(self) -> list[tuple[str, str]]:
        return [pair for one in self._statistics for pair in one.stored]

    def kernels(self) -> KernelParts:
        """The second of the two, with the first among its helpers; or one that does both."""
        if self.way != APART:
            return self._one_kernel()
        fused, writes = self.fused, self._writes_rows
        found = write_parts(fused.placer, self.tile, self._statistics, self._loops)
        first = (*self._part(), *(() if self._loops else PART), *found)
        kept = tuple(f"{name}_part_ptr" for name, _ in self._held)
        parts = KernelParts(
            name=f"{fused.name}_parts",
            pointers=(*(f"{name}_ptr" for name in self._loaded(first=True)), *kept),
            sizes=(
                *among(["N"], first),
                "PARTS",
                *(("SPAN",) if self._loops else ()),
                *among(fused.index_sizes, first),
            ),
            scalars=among((number.name for number in fused.scalars), first),
            meta=("BLOCK_N: tl.constexpr",),
            body=first,
            helpers=(),
            launcher=(),
        )
        place = self._part(backwards=True) if writes else [ROW] if self.tile.lead else []
        place += ["cols = part * BLOCK_N + tl.arange(0, BLOCK_N)", "mask = cols < N"] if writes else []
        second = (*place, *write_together(fused.placer, self.tile, self._statistics, fused.outputs))
        return KernelParts(
            name=fused.name,
            pointers=(*(f"{name}_ptr" for name in self._loaded()), *kept, *(one.pointer for one in fused.outputs)),
            sizes=(*self._second_sizes(second), *among(fused.index_sizes, second)),
            scalars=among((number.name for number in fused.scalars), second),
            meta=("BLOCK_N: tl.constexpr", "BLOCK_PARTS: tl.constexpr"),
            body=second,
            helpers=(*fused.helpers, render_kernel(parts)),
            launcher=tuple(self._launcher(first, second)),
        )

    def _one_kernel(self) -> KernelParts:
        fused, values = self.fused, self.fused.placer.values
        queued = self.way == QUEUED
        body = tuple(self._queued_body() if queued else self._held_body())
        held = [f"{name}_part" for name, _ in self._held]
        block, near = f"{self.prefix}{'QUEUE_N' if queued else 'HELD_N'}", fused.leaves[0].name
        every, rows = ("M * PARTS", "M + 1") if self.tile.lead else ("PARTS", "2")
        sizes = ["M", "N", "PARTS", "AHEAD"] if queued else ["N", "PARTS"]
        limit = ['    assert PARTS <= most, "programs that wait for one another must run at the same time"']
        if queued:
            limit = [
                f"    AHEAD = min(PARTS + {self.prefix}LEAD * most, M * PARTS)",
                '    assert M * PARTS < 2**30, "tickets are 32-bit"',
            ]
        results = [output.name for output in fused.outputs]
        loaded = [step.name for step in fused.loaded if any(value.step is step for value in values)]
        launcher = [
            *fused.signature(),
            *fused.preparation(),
            *self.counts,
            f"    PARTS = triton.cdiv(N, {block})",
            f"    most = torch.cuda.get_device_properties({near}.device).multi_processor_count",
            *limit,
            *self._empty_parts(near),
            f"    arrived = torch.zeros(({rows},), dtype=torch.int32, device={near}.device)",
            *fused.allocations(),
            *fused.call(
                f"{fused.name}_kernel[({'2 * ' if queued else ''}{every},)]",
                [*loaded, *held, "arrived"],
                results,
                sizes,
                [f"BLOCK_N={block}", _BLOCK_PARTS, f"num_warps={self.prefix}NUM_WARPS"],
            ),
            f"    return {', '.join(results)}",
        ]
        return KernelParts(
            name=fused.name,
            pointers=(
                *(f"{name}_ptr" for name in (*loaded, *held, "arrived")),
                *(one.pointer for one in fused.outputs),
            ),
            sizes=(*sizes, *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=("BLOCK_N: tl.constexpr", "BLOCK_PARTS: tl.constexpr"),
            body=body,
            helpers=fused.helpers,
            launcher=tuple(launcher),
        )

    def _held_body(self) -> list[str]:
        fused, tile = self.fused, self.tile
        return [
            *(["program = " + _TICKET, *self._part()[1:]] if tile.lead else ["part = " + _TICKET]),
            *PART,
            *write_parts(fused.placer, tile, self._statistics, loops=False),
            *write_arrival(tile),
            *write_wait(tile),
            *write_together(fused.placer, tile, self._statistics, fused.outputs, HELD),
        ]

    def _queued_body(self) -> list[str]:
        """First parts are only reduced, then by turns reduced and written, at last only written."""
        fused, tile = self.fused, self.tile
        reduces = [
            *write_parts(fused.placer, tile, self._statistics, loops=False, way=QUEUED),
            *write_arrival(tile),
        ]
        writes = [
            *write_before_wait(fused.placer, tile, fused.outputs),
            *write_wait(tile),
            *write_together(fused.placer, tile, self._statistics, fused.outputs, QUEUED),
        ]
        return [
            "ticket = " + _TICKET,
            "reduced = tl.minimum(tl.minimum(ticket, (ticket + AHEAD) // 2), M * PARTS)  # by earlier tickets",
            "reduces = (reduced < M * PARTS) & ((ticket < AHEAD) | ((ticket - AHEAD) % 2 == 1))",
            "program = tl.where(reduces, reduced, ticket - reduced)",
            *self._part()[1:],
            *PART,
            "if reduces:  # says what a part says",
            *(f"    {line}" for line in reduces),
            "else:  # writes a part that was reduced AHEAD parts before, and is still in the L2",
            *(f"    {line}" for line in writes),
        ]

    def _empty_parts(self, near: str) -> list[str]:
        return write_empty_parts(self._statistics, "(M, PARTS)" if self.tile.lead else "(PARTS,)", near)

    def _loaded(self, first: bool = False) -> list[str]:
        """The tensors that a kernel reads: the first one for its parts, the second one for its outputs."""
        return list_loaded(self.fused, find_read(self._statistics) if first else find_written(self.fused.outputs))

    def _part(self, backwards: bool = False) -> list[str]:
        """Which part of which row a program has."""
        program = "tl.num_programs(0) - 1 - tl.program_id(0)" if backwards else "tl.program_id(0)"
        why = "  # backwards: what was read last is still in the cache" if backwards else ""
        wide = ".to(tl.int64)" if self.length >= _LARGEST_OFFSET or (self._loops and not self.tile.lead) else ""
        if backwards and self.by_parts:
            return [
                "program = tl.program_id(0)  # by parts: what all rows have is read from memory once",
                "row = (program % M).to(tl.int64)  # M * N may pass 2**31",
                f"part = {'(program // M)' if wide else 'program // M'}{wide}",
            ]
        if not self.tile.lead:
            return [f"part = ({program}){wide}{why}" if wide and backwards else f"part = {program}{wide}{why}"]
        return [
            f"program = {program}{why}",
            "row = (program // PARTS).to(tl.int64)  # M * N may pass 2**31",
            f"part = {'(program % PARTS)' if wide else 'program % PARTS'}{wide}",
        ]

    def _second_sizes(self, second: Sequence[str]) -> tuple[str, ...]:
        return (*(["M"] if self.by_parts and self._writes_rows else []), *among(["N"], second), "PARTS")

    def _launcher(self, first: Sequence[str], second: Sequence[str]) -> list[str]:
        fused, block = self.fused, f"{self.prefix}PART_N"
        rows = bool(self.tile.lead)
        lines = [*fused.signature(), *fused.preparation(), *self.counts]
        if not rows and not self._loops and self.length < _LARGEST_OFFSET:
            lines.append(f'    assert N < 2**31 - {block}, "offsets are 32-bit"')
        if self._loops:
            most = f"max(1, {_MOST_PROGRAMS} // max(1, M))" if rows else str(_MOST_PROGRAMS)
            lines += [
                f"    tiles = max(1, triton.cdiv(N, {block}))",
                f"    SPAN = triton.cdiv(tiles, min(tiles, {most})) * {block}",
                "    PARTS = max(1, triton.cdiv(N, SPAN))",
            ]
        else:
            lines += [
                f"    PARTS = triton.cdiv(N, {block})",
                f'    assert PARTS <= {2 * MOST_PARTS}, "a program must hold what all parts of a row say"',
            ]
        lines += self._empty_parts(fused.leaves[0].name)
        return [*lines, *fused.allocations(), *self._launches(block, first, second)]

    def _launches(self, block: str, first: Sequence[str], second: Sequence[str]) -> list[str]:
        fused, kept = self.fused, [f"{name}_part" for name, _ in self._held]
        every, each = ("(M * PARTS,)", "(M,)") if self.tile.lead else ("(PARTS,)", "(1,)")
        results = [output.name for output in fused.outputs]
        warps = f"num_warps={self.prefix}NUM_WARPS"
        return [
            *fused.call(
                f"{fused.name}_parts_kernel[{every}]",
                self._loaded(first=True),
                kept,
                [*among(["N"], first), "PARTS", *(["SPAN"] if self._loops else [])],
                [f"BLOCK_N={block}", warps],
                first,
            ),
            *fused.call(
                f"{fused.name}_kernel[{every if self._writes_rows else each}]",
                [*self._loaded(), *kept],
                results,
                self._second_sizes(second),
                [f"BLOCK_N={block}", _BLOCK_PARTS, warps],
                second,
            ),
            f"    return {', '.join(results)}",
        ]


def among(names: Iterable[str], body: Sequence[str]) -> tuple[str, ...]:
    """Those that the lines of a kernel use."""
    used = names_in(body)
    return tuple(name for name in names if name.partition(":")[0] in used)
