"""Placed values as the body of a kernel: on one tile, or over a long row in blocks, one pass per reduction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tilesmith.playbook.graph.placement import PlacedValue, Placer
from tilesmith.playbook.graph.steps import CAST, INDEX, LEAF, PRODUCT, REDUCTIONS, SCANS, KernelStep
from tilesmith.playbook.writing.expressions import neutral_element, write_expression, write_masked
from tilesmith.playbook.writing.operands import to_source

COMBINERS = {
    "amax": ("larger", "tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)"),
    "amin": ("smaller", "tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)"),
    "prod": ("product", "a * b"),
    "log_add": (
        "log_of_sum",
        "tl.where(a == b, a + 0.6931471805599453, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)\n"
        "        + libdevice.log1p(tl.exp(-tl.abs(a - b))))",
    ),
}
"""Reductions that need a function of their own: PyTorch's maximum is NaN as soon as one element is."""
PLACES = {"argmax": ("max", ">"), "argmin": ("min", "<")}
"""Reductions that say where an extreme lies: which one, and how an element beats those before it."""
_UPDATES = {"sum": "{a} + {b}", "prod": "{a} * {b}", "max": "tl.maximum({a}, {b})"}


@dataclass(frozen=True)
class Tile:
    """How a program addresses what it computes."""

    lead: str | None
    """The variable that counts rows: `row` for one per program, `rows` for several, None on a flat tile. Where
    columns are reduced, `cols`: then they are what is called rows elsewhere."""
    trail: str
    pads: bool
    """Lanes beyond the row must hold something known, because they are reduced."""
    has_outer: bool = False
    """Whether a program has `M` columns at most, those of the place `outer` in the dimensions before."""

    @property
    def is_flat(self) -> bool:
        """Whether it has one dimension."""
        return self.lead not in ("rows", "cols")

    @property
    def row_number(self) -> str:
        return f"(outer * M + {self.lead})" if self.has_outer else str(self.lead)

    @property
    def head(self) -> list[str]:
        """Where a block of the row that begins at `start` is, and what of it is there."""
        if self.is_flat:
            return [f"{self.trail} = start + tl.arange(0, BLOCK_N)", f"mask = {self.trail} < N"]
        lanes = "[:, None]" if self.lead == "cols" else "[None, :]"
        block = f"{self.trail} = start + tl.arange(0, BLOCK_N){lanes}"
        return [block, f"mask_n = {self.trail} < N", "mask = mask_m & mask_n"]

    def mask(self, value: PlacedValue, address: str = "") -> str | None:
        """What of a value is there, or of the lanes that an address goes to: they may all get one number."""
        used = re.findall(r"\w+", address)
        is_wide, has_rows = value.is_wide or self.trail in used, value.place.lead is not None or self.lead in used
        lanes = "mask" if is_wide else None
        if not self.is_flat:
            lanes = "mask" if is_wide and has_rows else "mask_n" if is_wide else "mask_m" if has_rows else None
        names = [*([lanes] if lanes else []), *(guard.name for guard in value.place.guards)]
        return " & ".join(names) or None

    @property
    def columns_mask(self) -> str:
        return "mask" if self.is_flat else "mask_n"

    def reduced(self, kind: str, operand: str) -> str:
        axis = "1" if self.lead == "rows" else "0"
        keep = "" if self.is_flat else ", keep_dims=True"
        if kind in COMBINERS:
            return f"tl.reduce({operand}, {axis}, {COMBINERS[kind][0]}{keep})"
        return f"tl.{kind}({operand}, axis={axis}{keep})"


@dataclass(frozen=True)
class StoredOutput:
    """An output: the variable that holds it, the pointer it goes to, and the step it is, reshapes included."""

    value: PlacedValue
    pointer: str
    step: KernelStep
    address: str
    """Where its elements go, counted from the pointer."""

    @property
    def name(self) -> str:
        return self.pointer.removesuffix("_ptr")


def choose_paddings(values: Iterable[PlacedValue]) -> dict[str, float]:
    """What every wide leaf is padded with: the neutral element of the first reduction over it."""
    chosen: dict[str, float] = {}
    for value in values:
        if value.step.op == LEAF and value.is_wide:
            chosen[value.name] = neutral_element("sum", value.step.computed_in)
    for value in values:
        if value.step.op in REDUCTIONS and value.step.op not in ("sum", "prod"):
            operand: PlacedValue = value.operands[0]
            if operand.name in chosen:
                chosen[operand.name] = neutral_element(value.step.op, operand.step.computed_in)
    return chosen


def write_on_one_tile(placer: Placer, tile: Tile, outputs: Sequence[StoredOutput]) -> list[str]:
    """Every value once, in order, then the stores. All rows are on their way before the first is reduced."""
    filled = choose_paddings(placer.values) if tile.pads else {}
    computed = [value for value in placer.values if value.step.op != PRODUCT]
    if any(value.step.op in REDUCTIONS for value in computed):
        computed.sort(key=lambda value: not _is_row(value))
    lines = [write_value(tile, value, filled) for value in computed]
    return _explained(lines + [write_store(tile, output) for output in outputs], tile)


def _is_row(value: PlacedValue) -> bool:
    """Whether it is a tensor of which every row has its own, read at places that are known at once."""
    return value.step.op == LEAF and value.is_wide and value.place.lead is not None and not value.operands


def write_value(tile: Tile, value: PlacedValue, filled: dict[str, float], eviction: str = "") -> str:
    """`eviction`: how long the L2 should keep what is read of a row; what all rows have stays by itself."""
    if value.step.op == LEAF:
        return _load(tile, value, filled, eviction if value.place.lead and value.is_wide else "")
    if value.step.op in REDUCTIONS:
        operand = write_masked(value.operands[0], value.step.op, filled, tile.columns_mask)
        found = tile.reduced(value.step.op, _widened(operand, value))
        place = value.step.op in ("argmax", "argmin")  # 32 bits in Triton
        return f"{value.name} = {found}{'.to(tl.int64)' if place else ''}"
    if value.step.op in SCANS:
        return f"{value.name} = {_scanned(tile, value, filled)}"
    return f"{value.name} = {value.text if value.step.op == INDEX else write_expression(value)}"


def _scanned(tile: Tile, value: PlacedValue, filled: dict[str, float]) -> str:
    kind = SCANS[value.step.op]
    operand = _widened(write_masked(value.operands[0], kind, filled, tile.columns_mask), value)
    reverse = ", reverse=True" if value.step.options["reverse"] else ""
    axis = 1 if tile.lead == "rows" else 0
    if value.step.op in ("cummax", "cummin", "logcumsumexp"):
        return f"tl.associative_scan({operand}, {axis}, {COMBINERS[kind][0]}{reverse})"
    return f"tl.{value.step.op}({operand}, axis={axis}{reverse})"


def _widened(operand: str, value: PlacedValue) -> str:
    """Integers are summed in the wide type of the result."""
    is_sum = value.step.op in ("sum", "prod", *SCANS)
    same = value.operands[0].step.computed_in == value.step.computed_in
    return operand if same or not is_sum else f"{operand}.to({value.step.computed_in})"


def _load(tile: Tile, value: PlacedValue, filled: dict[str, float], eviction: str) -> str:
    mask = tile.mask(value)
    source = f"{value.step.name}_ptr" + (f" + {value.text}" if value.text != "0" else "")
    other = f", other={to_source(filled[value.name])}" if mask and value.name in filled else ""
    loaded = f"tl.load({source}{f', mask={mask}' if mask else ''}{other}{_policy(eviction)})"
    narrow = value.step.dtype in ("float16", "bfloat16")
    return f"{value.name} = {loaded}{'.to(tl.float32)' if narrow else ''}"


def _policy(eviction: str) -> str:
    return f', eviction_policy="{eviction}"' if eviction else ""


def write_store(tile: Tile, output: StoredOutput, eviction: str = "") -> str:
    value, mask = output.value, tile.mask(output.value, output.address)
    target = f"{output.pointer} + {output.address}" if output.address != "0" else output.pointer
    narrow = value.step.dtype in ("float16", "bfloat16")
    held = f"{value.name}.to({output.pointer}.dtype.element_ty)" if narrow else value.name
    kept = _policy(eviction if value.is_wide else "")
    return f"tl.store({target}, {held}{f', mask={mask}' if mask else ''}{kept})"


def write_in_blocks(placer: Placer, tile: Tile, outputs: Sequence[StoredOutput]) -> list[str]:
    """A pass over the row for every reduction that waits for another one, and one to write."""
    filled = choose_paddings(placer.values)
    narrow = [value for value in placer.values if not value.is_wide]
    lines: list[str] = []
    for level in range(max((value.level for value in placer.values), default=0) + 1):
        ready = [one for one in narrow if one.level == level and one.step.op not in REDUCTIONS]
        lines += [write_value(tile, value, filled) for value in ready]
        reductions = [one for one in narrow if one.step.op in REDUCTIONS and one.level == level + 1]
        if reductions:
            lines += write_accumulation(placer, tile, reductions, filled)
    wide = [output for output in outputs if output.value.is_wide]
    if wide:
        lines += write_pass(placer, tile, [output.value for output in wide], filled)
        lines += [f"    {write_store(tile, output)}" for output in wide]
    lines += [write_store(tile, output) for output in outputs if not output.value.is_wide]
    return _explained(lines, tile)


def _explained(lines: list[str], tile: Tile) -> list[str]:
    """The first mask inside a reduction says why it is there."""
    masked_sum = next((line for line in lines if f"tl.where({tile.columns_mask}, " in line), None)
    reason = "  # lanes beyond the row must not count"
    return [f"{line}{reason}" if line is masked_sum else line for line in lines]


def write_accumulation(
    placer: Placer,
    tile: Tile,
    reductions: Sequence[PlacedValue],
    filled: dict[str, float],
    span: tuple[str, str] = ("0", "N"),
) -> list[str]:
    """Reductions of a row that is read in blocks: lane by lane, then over the lanes."""
    places = {value.operands[0]: value for value in reversed(reductions) if value.step.op in PLACES}
    of_nan = {value: places[x] for value in reductions if (x := _find_examined(value)) in places}
    carried = [value for value in reductions if value not in of_nan]
    lines = [line for value in carried for line in _accumulators(tile, value)]
    lines += write_pass(placer, tile, [one.operands[0] for one in carried], filled, span)
    for value in carried:
        lines += [f"    {line}" for line in _accumulated(tile, value, filled, value in of_nan.values())]
    lines += [line for value, place in of_nan.items() for line in _nan_over_lanes(tile, value, place)]
    return lines + [line for value in carried for line in _over_lanes(tile, value)]


def _find_examined(value: PlacedValue) -> PlacedValue | None:
    """What a reduction looks for NaN in."""
    flags = value.operands[0]
    if value.step.op not in ("max", "argmax") or flags.step.op != CAST:
        return None
    compared: PlacedValue = flags.operands[0]
    is_nan = compared.step.op == "ne" and compared.operands[0] is compared.operands[1]
    return compared.operands[0] if is_nan else None


def write_pass(
    placer: Placer,
    tile: Tile,
    wanted: Sequence[PlacedValue],
    filled: dict[str, float],
    span: tuple[str, str] = ("0", "N"),
) -> list[str]:
    """The head of a loop over the blocks of a row, and all it takes to have `wanted` in it."""
    needed = find_needed(wanted, lambda value: value.is_wide)
    inside = [value for value in placer.values if value in needed]
    first, last = span
    scans = [value for value in inside if value.step.op in SCANS]
    lines = [_carry(tile, value) for value in scans]
    if any(value.step.options["reverse"] for value in scans):
        lines += [
            f"for done in range({first}, {last}, BLOCK_N):",
            "    start = (N - 1) // BLOCK_N * BLOCK_N - done",
        ]
    else:
        lines += [f"for start in range({first}, {last}, BLOCK_N):"]
    lines += [f"    {line}" for line in tile.head]
    for value in inside:
        lines.append(f"    {write_value(tile, value, filled)}")
        if value in scans:
            lines += [f"    {line}" for line in _carried(tile, value, filled)]
    return lines


def _carry(tile: Tile, value: PlacedValue) -> str:
    """What the blocks before have come to."""
    lane = to_source(neutral_element(SCANS[value.step.op], value.step.computed_in))
    shape = "[]" if tile.is_flat else "[1, BLOCK_M]"
    return f"{value.name}_carry = tl.full({shape}, {lane}, {value.step.computed_in})"


def _carried(tile: Tile, value: PlacedValue, filled: dict[str, float]) -> list[str]:
    kind, name = SCANS[value.step.op], value.name
    operand = _widened(write_masked(value.operands[0], kind, filled, tile.columns_mask), value)
    form = {"sum": "{} + {}", "prod": "{} * {}"}.get(kind) or f"{COMBINERS[kind][0]}({{}}, {{}})"
    return [
        f"{name} = {form.format(name, f'{name}_carry')}",
        f"{name}_carry = {form.format(f'{name}_carry', tile.reduced(kind, operand))}",
    ]


def find_needed(wanted: Iterable[PlacedValue], belongs: Callable[[PlacedValue], bool]) -> set[PlacedValue]:
    """The values that these are computed from, themselves included, along those that belong."""
    found: set[PlacedValue] = set()
    waiting = [value for value in wanted if belongs(value)]
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting += [one for one in value.operands if isinstance(one, PlacedValue) and belongs(one)]
    return found


def _accumulators(tile: Tile, value: PlacedValue) -> list[str]:
    """What every lane begins with."""
    name, op = value.name, value.step.op
    shape = "[BLOCK_N]" if tile.is_flat else "[BLOCK_N, BLOCK_M]"
    kind = value.operands[0].step.computed_in if op in PLACES else value.step.computed_in
    lane = to_source(neutral_element(op, kind))
    if op in PLACES:
        return [
            f"{name}_best = tl.full({shape}, {lane}, dtype={kind})",
            f"{name}_acc = tl.full({shape}, 0, dtype=tl.int32)",
        ]
    return [f"{name}_acc = tl.full({shape}, {lane}, dtype={kind})"]


def _accumulated(tile: Tile, value: PlacedValue, filled: dict[str, float], keeps_nan: bool) -> list[str]:
    """`keeps_nan`: the first one is better than whatever comes after it."""
    operand = write_masked(value.operands[0], value.step.op, filled, tile.columns_mask)
    name, kind = f"{value.name}_acc", value.step.op
    if kind in PLACES:
        best = f"{value.name}_best"
        better = f"{operand} {PLACES[kind][1]} {best}"
        if keeps_nan:
            better = f"({better}) | (({operand} != {operand}) & ({best} == {best}))"
        return [
            f"is_better = {better}",
            f"{best} = tl.where(is_better, {operand}, {best})",
            f"{name} = tl.where(is_better, {tile.trail}.to(tl.int32), {name})",
        ]
    if kind in COMBINERS and kind != "prod":
        return [f"{name} = {COMBINERS[kind][0]}({name}, {operand})"]
    return [f"{name} = {_UPDATES[kind].format(a=name, b=_widened(operand, value))}"]


def _nan_over_lanes(tile: Tile, value: PlacedValue, place: PlacedValue) -> list[str]:
    """Whether a lane has kept NaN, or where the first is."""
    is_nan = f"{place.name}_best != {place.name}_best"
    found = tile.reduced("max", f"({is_nan}).to(tl.int32)")
    if value.step.op not in PLACES:
        return [f"{value.name} = {found}"]
    first = tile.reduced("min", f"tl.where({is_nan}, {place.name}_acc, 2147483647)")
    peak = f"{value.name}_peak"
    return [f"{peak} = {found}", f"{value.name} = tl.where({peak} > 0, {first}, 0).to(tl.int64)"]


def _over_lanes(tile: Tile, value: PlacedValue) -> list[str]:
    """A reduction from its lanes; of places that are as good, the first."""
    name, kind = value.name, value.step.op
    if kind not in PLACES:
        return [f"{name} = {tile.reduced(kind, f'{name}_acc')}"]
    best = tile.reduced(PLACES[kind][0], f"{name}_best")
    places = tile.reduced("min", f"tl.where({name}_best == {name}_peak, {name}_acc, 2147483647)")
    return [f"{name}_peak = {best}", f"{name} = {places}.to(tl.int64)"]
