"""The kernel that goes through a sequence in chunks, as text, and the function that launches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tilesmith.playbook.graph.placement import PlacedValue, Placer
from tilesmith.playbook.graph.steps import GIVEN, LEAF, KernelStep
from tilesmith.playbook.graph.symbols import Dim
from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.loops.recurrence import Recurrence
from tilesmith.playbook.recipes.rows import flat
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, names_in
from tilesmith.playbook.writing.kernel_body import COMBINERS, StoredOutput, Tile, choose_paddings, write_value
from tilesmith.playbook.writing.operands import to_source

_HEAD = """\
tiles = tl.cdiv(N, BLOCK_N)
part = tl.program_id(0) // tiles
rows, segment = part // COUNT, part % COUNT  # the number of a state, and which of its steps
cols = tl.program_id(0) % tiles * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
depth, turned = tl.arange(0, BLOCK_K)[None, :], tl.arange(0, BLOCK_K)[:, None]
later, earlier = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
mask_n, mask_k = cols < N, depth < K
held, held_offs = mask_n & (turned < K), {offsets}
state = tl.zeros((BLOCK_K, BLOCK_N), tl.float32)"""
_BEFORE = """\
    for before in range(segment):  # what the segments before come to
        place = rows * (COUNT - 1) + before
        state *= tl.load(shares_ptr + place * tiles + tl.program_id(0) % tiles)
        state += tl.load(states_ptr + place * K * N + held_offs, mask=held, other=0.0)"""
_LOOP = """\
share = tl.full((), 1.0, tl.float32)
first = segment * SPAN
last = tl.minimum(first + SPAN, STEPS)
for begin in tl.range(first, last, CHUNK, num_stages=NUM_STAGES):
    inside = begin + later < last
    step = tl.minimum(begin + later, STEPS - 1)"""
_DECAYS = """\
    gates = tl.where(inside, {}, 1.0)
    between = (later[:, :, None] > earlier[:, None, :]) & (later[:, :, None] <= earlier[:, :, None])
    decays = tl.reduce(tl.where(between, gates[:, :, None], 1.0), 0, product)  # from one step to a later one
    since = tl.reduce(tl.where(later <= earlier, gates, 1.0), 0, product)[:, None]  # from the chunk's beginning
    until = tl.reduce(tl.where(later > earlier, gates, 1.0), 0, product)[None, :]  # to its end
    whole = tl.sum(tl.where(later == CHUNK - 1, since, 0.0))"""
_PRODUCT = f"@triton.jit\ndef {COMBINERS['prod'][0]}(a, b):\n    return {COMBINERS['prod'][1]}"
_END = """\
if ONLY_STATES:
    tl.store(states_ptr + part * K * N + held_offs, state, mask=held)
    tl.store(shares_ptr + tl.program_id(0), share)"""
_OURS = names_in(
    (_HEAD, _BEFORE, _LOOP, _DECAYS, "mixed weights keys queries values states shares share SPAN tiles")
)


class Tiles(NamedTuple):
    """What a chunk takes."""

    queries: PlacedValue
    keys: PlacedValue
    values: PlacedValue
    decay: PlacedValue | None


class _ChunkTile(Tile):
    """Steps of a chunk as rows. All are there: those beyond the last are the last one once more."""

    def mask(self, value: PlacedValue, address: str = "") -> str | None:
        wide = [self.columns_mask] if value.is_wide or self.trail in names_in([address]) else []
        return " & ".join([*wide, *(guard.name for guard in value.place.guards)]) or None

    @property
    def columns_mask(self) -> str:
        return "mask_k" if self.trail == "depth" else "mask_n"


@dataclass(frozen=True)
class ChunkWriter:
    fused: FusedKernel
    inner: Placer
    """A tile of queries and keys; `fused` has one of values and results."""
    recurrence: Recurrence
    tiles: Tiles
    along: Dim

    def write(self, prefix: str) -> KernelParts:
        fused, start = self.fused, [f"{one.name}_ptr" for one in self._start]
        if {one.name for one in fused.values if one.step.op != GIVEN} & _OURS:
            raise Unmatched("has a tensor whose name the kernel needs")
        return KernelParts(
            name=fused.name,
            pointers=(*start, *fused.pointers, "states_ptr", "shares_ptr"),
            sizes=("STEPS", "SPAN", "COUNT", "K", "N", *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(
                f"{one}: tl.constexpr" for one in ("CHUNK", "BLOCK_K", "BLOCK_N", "ONLY_STATES", "NUM_STAGES")
            ),
            body=tuple(self._body()),
            helpers=tuple(dict.fromkeys((*fused.helpers, *([_PRODUCT] if self.tiles.decay else [])))),
            launcher=tuple(self._launcher(prefix)),
        )

    @property
    def _start(self) -> list[KernelStep]:
        """The tensor that holds the states before the first step."""
        return [one for one in (self.recurrence.start,) if one.op == LEAF]

    def _body(self) -> list[str]:
        found, tiles = self.recurrence, self.tiles
        mixed = next(
            one for one in self.fused.placer.values if one.step.name == found.mixed.name and one.step.op == GIVEN
        )
        behind = _dependent(self.fused.placer.values, mixed)
        before = [one for one in self.fused.placer.values if one not in behind and one.step.op != GIVEN]
        lines = _HEAD.format(offsets="cols * K + turned" if found.is_turned else "turned * N + cols").splitlines()
        if self._start:
            source = f"{self._start[0].name}_ptr + rows * K * N + held_offs"
            read = f"tl.load({source}, mask=held, other=0.0).to(tl.float32)"
        else:
            read = f"state + {to_source(found.start.options['value'])}"
        lines += [
            "if not ONLY_STATES:",
            *([f"    state = {read}"] if read != "state + 0.0" else []),
            *_BEFORE.splitlines(),
            *_LOOP.splitlines(),
        ]
        lines += self._written(self.inner, [one for one in self.inner.values if one.step.op != GIVEN])
        lines += [
            f"    queries = tl.where(inside & mask_k, {tiles.queries.name}, 0.0)",
            f"    keys = tl.where(inside & mask_k, {tiles.keys.name}, 0.0)",
        ]
        lines += self._written(self.fused.placer, before)
        lines += [f"    values = tl.where(inside & mask_n, {tiles.values.name}, 0.0)"]
        lines += _DECAYS.format(tiles.decay.name).splitlines() if tiles.decay else []
        return [
            *lines,
            "    if not ONLY_STATES:",
            *(f"        {line}" for line in self._mixed(mixed.name)),
            *(
                f"    {line}"
                for line in self._written(
                    self.fused.placer,
                    [one for one in self.fused.placer.values if one in behind and one is not mixed],
                )
            ),
            *(f"        {self._stored(one)}" for one in self.fused.outputs if one.value.name),
            *self._next(),
            *_END.splitlines(),
            *self._last(),
        ]

    def _written(self, placer: Placer, values: Sequence[PlacedValue]) -> list[str]:
        tile = _ChunkTile("rows", placer.trail.name, True)
        filled = choose_paddings(placer.values)
        return [f"    {write_value(tile, one, filled)}" for one in values]

    @property
    def _dot(self) -> str:
        """Several bfloat16 numbers are as exact as what is multiplied: a half takes two, a float32 three."""
        several = "bf16x6" if self.recurrence.mixed.dtype == "float32" else "bf16x3"
        return f'tl.dot({{}}, {{}}, input_precision="{several}")'

    def _mixed(self, name: str) -> list[str]:
        dot, decay = self._dot, self.tiles.decay
        return [
            f"scores = {dot.format('queries', 'tl.trans(keys)')}{' * decays' if decay else ''}",
            "scores = tl.where(later >= earlier, scores, 0.0)",
            f"{name} = {dot.format('queries * since' if decay else 'queries', 'state')}",
            f"{name} += {dot.format('scores', 'values')}",
        ]

    def _next(self) -> list[str]:
        if self.tiles.decay is None:
            return [f"    state += {self._dot.format('tl.trans(keys)', 'values')}"]
        return [
            f"    state = state * whole + {self._dot.format('tl.trans(keys) * until', 'values')}",
            "    share *= whole",
        ]

    def _stored(self, output: StoredOutput) -> str:
        held = f"{output.value.name}.to({output.pointer}.dtype.element_ty)"
        return f"tl.store({output.pointer} + {output.address}, {held}, mask=inside & mask_n)"

    def _last(self) -> list[str]:
        names = [one.pointer for one in self.fused.outputs if not one.value.name]
        stores = [f"    tl.store({name} + rows * K * N + held_offs, state, mask=held)" for name in names]
        return ["elif segment == COUNT - 1:", *stores] if names else []

    def _launcher(self, prefix: str) -> list[str]:
        fused, found = self.fused, self.recurrence
        outputs = [one.name for one in fused.outputs]
        tensors = ", ".join([*(one.name for one in fused.leaves), *outputs, "states"])
        made = f"dtype=torch.float32, device={fused.leaves[0].name}.device"
        lines = [
            *fused.signature(),
            *fused.preparation(self._start),
            f"    STEPS, M = {fused.product(self.along)}, {fused.product(flat(found.rows))}",
            f"    K, N = {fused.product(found.depth)}, {fused.product(found.width)}",
            f"    SPAN = triton.cdiv(triton.cdiv(max(STEPS, 1), {prefix}CHUNK), {prefix}SEGMENTS) * {prefix}CHUNK",
            f"    segments, tiles = triton.cdiv(max(STEPS, 1), SPAN), triton.cdiv(N, {prefix}BLOCK_N)",
            *fused.allocations(),
            f"    states = torch.empty((M, segments - 1, K, N), {made})",
            f"    shares = torch.empty((M, segments - 1, tiles), {made})",
            f'    assert max(one.numel() for one in ({tensors})) < 2**31, "offsets are 32-bit"',
        ]
        inputs = [one.name for one in (*self._start, *fused.loaded)]
        for only_states, count in ((True, "segments - 1"), (False, "segments")):
            constants = [f"{name}={prefix}{name}" for name in ("CHUNK", "BLOCK_N", "NUM_STAGES")]
            constants += [
                "BLOCK_K=max(16, triton.next_power_of_2(K))",
                f"ONLY_STATES={only_states}",
                f"num_warps={prefix}NUM_WARPS",
            ]
            launch = fused.call(
                f"{fused.name}_kernel[(M * {f'({count})' if only_states else count} * tiles,)]",
                inputs,
                [*outputs, "states", "shares"],
                ["STEPS", "SPAN", count, "K", "N"],
                constants,
            )
            lines += ["    if segments > 1:", *(f"    {line}" for line in launch)] if only_states else launch
        return [*lines, f"    return {', '.join(outputs)}"]


def _dependent(values: Sequence[PlacedValue], source: PlacedValue) -> set[PlacedValue]:
    """What is computed from it, itself included."""
    found = {source}
    for value in values:
        found |= {value} if any(one in found for one in value.operands if isinstance(one, PlacedValue)) else set()
    return found
