"""Rows that many programs share: one kernel finds out about parts of rows, the next one puts that together.

The exponentials of a softmax are summed relative to the maximum of their own part, the squares of a variance
relative to their own mean: both can be corrected afterwards, so that a row is read once before it is written. So
can a sum of p * log(p), which is one of exponentials times exponents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilesmith.playbook.graph.placement import PlacedValue, Placer
from tilesmith.playbook.graph.steps import LEAF, PRODUCT, REDUCTIONS
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.expressions import neutral_element
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import (
    PLACES,
    StoredOutput,
    Tile,
    choose_paddings,
    find_needed,
    write_accumulation,
    write_store,
    write_value,
)
from tilesmith.playbook.writing.operands import to_source

PLAIN, PLACE, EXPONENTIALS, SQUARES, ENTROPY = "plain", "place", "exponentials", "squares", "entropy"
APART, HELD, QUEUED = "apart", "held", "queued"
"""Ways to share a row: a kernel for the parts and one that writes; one kernel whose programs hold their parts until
they have met; one kernel whose programs find out about parts and write others, in the order of a queue."""
PART = ("first = part * BLOCK_N", "cols = first + tl.arange(0, BLOCK_N)", "mask = cols < N")
_FINITE = 'tl.where(tl.abs({0}) < float("inf"), {0}, 0.0)'


@dataclass(frozen=True)
class Statistic:
    """A reduction that is put together from parts of its row."""

    value: PlacedValue
    rule: str
    center: PlacedValue | None = None
    """What every element is relative to: the row's mean or maximum."""
    base: PlacedValue | None = None
    """The reduction that the center comes from."""
    log_total: PlacedValue | None = None
    """Of an entropy: the logarithm of the sum of the exponentials."""

    @property
    def name(self) -> str:
        return self.value.name

    @property
    def stored(self) -> tuple[tuple[str, str], ...]:
        """What a part keeps, and its type: the extreme beside its place."""
        own = (self.name, self.value.step.computed_in)
        return (
            (own, (f"{self.name}_peak", self.value.operands[0].step.computed_in)) if self.rule == PLACE else (own,)
        )


def find_statistics(values: Iterable[PlacedValue]) -> tuple[Statistic, ...]:
    """Every reduction, in order; refuses those that need more of a row than its parts can say."""
    return tuple(_as_statistic(value) for value in values if value.step.op in REDUCTIONS)


def _as_statistic(value: PlacedValue) -> Statistic:
    operand = value.operands[0]
    if value.level == 1:
        return Statistic(value, PLACE if value.step.op in ("argmax", "argmin") else PLAIN)
    if value.step.op == "sum" and operand.step.op in ("fast_exp", "exp"):
        base = _maximum_below(operand.operands[0])
        if base is not None:
            return Statistic(value, EXPONENTIALS, operand.operands[0].operands[1], base)
    if value.step.op == "sum" and _is_square(operand):
        base = _sum_below(operand.operands[0])
        if base is not None:
            return Statistic(value, SQUARES, operand.operands[0].operands[1], base)
    log_total = _log_total_below(operand) if value.step.op == "sum" else None
    if log_total is not None:
        base = _shifted_below(log_total).operands[1]
        return Statistic(value, ENTROPY, base, base, log_total)
    raise Unmatched("needs whole rows for a reduction that waits for another")


def _log_total_below(value: PlacedValue) -> PlacedValue | None:
    """log(s) with s the sum of exp(x - max(x)), where the value is p * log(p) with p = exp(x - max(x)) / s."""
    if value.step.op != "mul" or not all(isinstance(one, PlacedValue) for one in value.operands):
        return None
    for log_p, p in (value.operands, reversed(value.operands)):
        log_total = log_p.operands[1] if log_p.step.op == "sub" else None
        if not isinstance(log_total, PlacedValue) or log_total.step.op not in ("fast_log", "log"):
            continue
        total = log_total.operands[0]
        if total.step.op != "sum" or total.operands[0].step.op not in ("fast_exp", "exp"):
            continue
        numerator, shifted = total.operands[0], log_p.operands[0]
        is_p = p.step.op in ("fast_exp", "exp") and p.operands[0] is log_p
        is_p = is_p or (p.step.op == "div" and p.operands[0] is numerator and p.operands[1] is total)
        if is_p and numerator.operands[0] is shifted and _maximum_below(shifted) is shifted.operands[1]:
            return log_total
    return None


def _shifted_below(log_total: PlacedValue) -> PlacedValue:
    found: PlacedValue = log_total.operands[0].operands[0].operands[0]
    return found


def _is_square(value: PlacedValue) -> bool:
    op, operands = value.step.op, value.operands
    return op == "square" or (op == "pow" and operands[1] == 2) or (op == "mul" and operands[0] is operands[1])


def _maximum_below(value: PlacedValue) -> PlacedValue | None:
    """The maximum of x, where the value is x - max(x)."""
    if value.step.op != "sub" or not all(isinstance(one, PlacedValue) for one in value.operands):
        return None
    element, peak = value.operands
    found = peak.operands[0] if peak.step.op == "finite_or_zero" else peak
    return found if found.step.op in ("max", "amax") and found.operands[0] is element else None


def _sum_below(value: PlacedValue) -> PlacedValue | None:
    """The sum of x, where the value is x - sum(x) / N."""
    if value.step.op != "sub" or not all(isinstance(one, PlacedValue) for one in value.operands):
        return None
    element, mean = value.operands
    if mean.step.op != "div" or getattr(mean.operands[1], "name", None) != "N":
        return None
    total = mean.operands[0]
    is_sum = isinstance(total, PlacedValue) and total.step.op == "sum"
    return total if is_sum and total.operands[0] is element else None


def may_loop(statistics: Iterable[Statistic]) -> bool:
    """Whether a part may be longer than a tile: whatever is relative to its own part is found on one tile."""
    return all(statistic.rule == PLAIN for statistic in statistics)


def write_empty_parts(statistics: Iterable[Statistic], shape: str, near: str) -> list[str]:
    """Lines of a launcher: where parts are kept, on the device of the tensor `near`."""
    stored = [(name, kind.replace("tl.", "torch.")) for one in statistics for name, kind in one.stored]
    return [f"    {name}_part = torch.empty({shape}, dtype={kind}, device={near}.device)" for name, kind in stored]


def write_parts(
    placer: Placer, tile: Tile, statistics: Sequence[Statistic], loops: bool, way: str = APART
) -> list[str]:
    """What a part of a row says, stored. A part is one tile (`PART`), or several where it `loops`."""
    filled = choose_paddings(placer.values)
    stores = [_keep(tile, name) for statistic in statistics for name, _ in statistic.stored]
    needed = find_read(statistics)
    needed_first = [value for value in placer.values if value in needed and not value.is_wide and value.level == 0]
    if loops:
        head = ["first = part * SPAN", "last = tl.minimum(first + SPAN, N)"]
        head += [write_value(tile, value, filled) for value in needed_first]
        found = write_accumulation(placer, tile, [one.value for one in statistics], filled, ("first", "last"))
        return [*head, *found, *stores]
    lines = []
    if any(statistic.rule == SQUARES for statistic in statistics):
        lines.append("count = tl.minimum(N - first, BLOCK_N)")
    for value in placer.values:
        if value in needed and value.step.op != PRODUCT:
            lines += _in_part(tile, value, statistics, filled, "evict_last" if way == QUEUED else "")
    return lines


def _in_part(
    tile: Tile, value: PlacedValue, statistics: Sequence[Statistic], filled: dict[str, float], eviction: str
) -> list[str]:
    """A value as a part sees it: its mean is its own, and a maximum of nothing must not make NaN of it."""
    own = next((one for one in statistics if one.value is value), None)
    centered = [one for one in statistics if value in (one.center, one.base)]
    if any(one.rule == SQUARES and one.center is value for one in centered):
        return [f"{value.name} = {value.operands[0].name} / count"]
    lines = [write_value(tile, value, filled, eviction)]
    if own is None:
        return lines
    if own.rule == ENTROPY:
        assert own.log_total is not None
        numerator, shifted = own.log_total.operands[0].operands[0].name, _shifted_below(own.log_total).name
        lines = [f"{own.name} = tl.sum(tl.where(mask, {numerator} * {shifted}, 0.0), axis=0)"]
    if own.rule == PLACE:
        picked = lines[0].split(" = ", 1)[1].removesuffix(".to(tl.int64)")
        kind = value.step.op.removeprefix("arg")
        operand = picked.removeprefix(f"tl.{value.step.op}(")
        lines = [
            f"{own.name}_peak, {own.name} = tl.{kind}({operand[:-1]}, return_indices=True)",
            f"{own.name} = first + {own.name}.to(tl.int64)",
        ]
    lines += [_keep(tile, name) for name, _ in own.stored]
    if any(one.rule == EXPONENTIALS and one.center is value for one in centered):
        lines.append(f"{value.name} = {_FINITE.format(value.name)}  # a part may be nothing but -inf")
    return lines


def _keep(tile: Tile, name: str) -> str:
    row = f"{tile.row_number} * PARTS + " if tile.lead else ""
    return f"tl.store({name}_part_ptr + {row}part, {name}{'' if tile.is_flat else ', mask=mask_m'})"


def write_arrival(tile: Tile) -> list[str]:
    """A part has said what it says."""
    return [
        "tl.debug_barrier()  # all threads have stored before one of them says so",
        f'tl.atomic_add(arrived_ptr + {_counter(tile)}, 1, sem="release")',
    ]


def write_wait(tile: Tile) -> list[str]:
    """Nobody goes on before all parts of the row have said what they say."""
    return [f'while tl.atomic_add(arrived_ptr + {_counter(tile)}, 0, sem="acquire") < PARTS:', "    pass"]


def _counter(tile: Tile) -> str:
    return f"{tile.lead} + 1" if tile.lead else "1"


def write_before_wait(placer: Placer, tile: Tile, outputs: Sequence[StoredOutput]) -> list[str]:
    """What the outputs need of no reduction: it is on its way while a program waits, and nobody reads it again."""
    filled = choose_paddings(placer.values)
    needed = find_written(outputs)
    first = [value for value in placer.values if value in needed and value.level == 0]
    return [write_value(tile, value, filled, "evict_first") for value in first]


def find_read(statistics: Iterable[Statistic]) -> set[PlacedValue]:
    """What whoever finds out about a part computes."""
    listed = list(statistics)
    sources = [one.log_total.operands[0] if one.log_total else one.value for one in listed]
    return find_needed(sources, lambda _: True) | {one.value for one in listed}


def list_loaded(fused: FusedKernel, needed: set[PlacedValue]) -> list[str]:
    """The tensors among what a kernel needs."""
    read = {value.step for value in needed if value.step.op == LEAF}
    return [step.name for step in fused.loaded if step in read]


def find_written(outputs: Sequence[StoredOutput]) -> set[PlacedValue]:
    """What whoever knows the parts of all reductions computes: of whole rows no more than it writes."""
    wanted = [output.value for output in outputs]
    wide = find_needed(wanted, lambda value: value.is_wide)
    return wide | {value for value in find_needed(wanted, lambda _: True) if not value.is_wide}


def write_together(
    placer: Placer,
    tile: Tile,
    statistics: Sequence[Statistic],
    outputs: Sequence[StoredOutput],
    way: str = APART,
) -> list[str]:
    """Every reduction from its parts, and then the outputs: a part of a row by each program.

    Where a part is held, what `write_parts` computed of it is still there; in a queue, what came before the wait.
    """
    filled = choose_paddings(placer.values)
    wanted = find_written(outputs)
    lines = ["parts = tl.arange(0, BLOCK_PARTS)", "in_row = parts < PARTS"]
    if not tile.is_flat:
        lanes = "[None, :]" if tile.lead == "rows" else "[:, None]"
        lines = [f"parts = tl.arange(0, BLOCK_PARTS){lanes}", "in_row = mask_m & (parts < PARTS)"]
    lines += [f"places = {tile.row_number} * PARTS + parts"] if tile.lead else []
    if any(statistic.rule == SQUARES for statistic in statistics):
        lines.append("count_part = tl.minimum(N - parts * BLOCK_N, BLOCK_N)")
    known = wanted if way == QUEUED else set()
    if way == HELD:
        known = find_read(statistics)
    for value in placer.values:
        own = next((one for one in statistics if one.value is value), None)
        if own is not None and value in wanted:
            lines += _combined(tile, own, "" if way == APART else ', cache_modifier=".cg"')
        elif value in known and value.level == 0:
            continue
        elif value in wanted:
            lines.append(write_value(tile, value, filled))
    once = ", mask=part == 0" if any(output.value.is_wide for output in outputs) else ""
    stores = [(output, write_store(tile, output, "evict_first" if way == QUEUED else "")) for output in outputs]
    return lines + [line if output.value.is_wide else f"{line[:-1]}{once})" for output, line in stores]


def _combined(tile: Tile, statistic: Statistic, cached: str) -> list[str]:
    name, kind = statistic.name, statistic.value.step.op
    lines = []
    for held, held_type in statistic.stored:
        lane = to_source(neutral_element(kind, held_type))
        address = f"{held}_part_ptr + {'places' if tile.lead else 'parts'}"
        lines.append(f"{held}_part = tl.load({address}, mask=in_row, other={lane}{cached})")
    if statistic.rule == PLAIN:
        return [*lines, f"{name} = {tile.reduced(kind, f'{name}_part')}"]
    if statistic.rule == PLACE and not tile.is_flat:
        best = tile.reduced(PLACES[kind][0], f"{name}_peak_part")
        place = f"tl.where(in_row & ({name}_peak_part == {best}), {name}_part, 2147483647)"
        return [*lines, f"{name} = {tile.reduced('min', place)}"]
    if statistic.rule == PLACE:
        best = f"tl.{kind}({name}_peak_part, axis=0)"
        return [*lines, f"{name} = tl.sum(tl.where(parts == {best}, {name}_part, 0), axis=0)"]
    assert statistic.base is not None
    assert statistic.center is not None
    base, center = statistic.base.name, statistic.center.name
    if statistic.rule == ENTROPY:
        assert statistic.log_total is not None
        total = statistic.log_total.operands[0].name
        scaled = f"tl.exp({base}_shift) * ({name}_part + {base}_shift * {total}_part)"
        return [
            *lines,
            f"{base}_shift = {base}_part - {base}",
            f"{name} = tl.sum(tl.where(in_row, {scaled}, 0.0), axis=0) / {total} - {statistic.log_total.name}",
        ]
    if statistic.rule == SQUARES:
        return [
            *lines,
            f"{base}_shift = {base}_part / count_part - {center}",
            f"{name}_part += count_part * {base}_shift * {base}_shift  # every part has a mean of its own",
            f"{name} = {tile.reduced('sum', f'tl.where(in_row, {name}_part, 0.0)')}",
        ]
    if statistic.center is statistic.base:
        return [*lines, f"{name} = {tile.reduced('sum', f'{name}_part * tl.exp({base}_part - {base})')}"]
    scaled = f"{name}_part * tl.exp({_FINITE.format(f'{base}_part')} - {center})"
    return [*lines, f"{name} = {tile.reduced('sum', f'tl.where({name}_part == 0.0, 0.0, {scaled})')}"]
