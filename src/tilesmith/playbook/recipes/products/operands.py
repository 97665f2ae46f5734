"""Factors that a kernel computes on the way, tile by tile: weights of few bits and their scales, activations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, isfinite, prod
from typing import NamedTuple

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.placement import PlacedValue, Placer, TilePosition
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import CAST, INDEX, LEAF, PRODUCT, REDUCTIONS, SCANS, KernelStep
from tilesmith.playbook.graph.sums.factors import Factor
from tilesmith.playbook.graph.symbols import Dim
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.kernel_body import Tile, find_needed, write_on_one_tile, write_value

_GROUPED_HELPER = '''@triton.jit
def {name}(
{parameters}
):
    """A tile of the {side} factor that begins at its column `start`; `rows` are numbers of its own rows."""
    cols = start + tl.arange(0, BLOCK_K)[None, :]
    mask_m, mask_n = rows < M, cols < N
    mask = mask_m & mask_n
{lines}
    return {value}'''
_PAIRS = (
    "pairs = start // 2 + tl.arange(0, BLOCK_K // 2)[None, :]",
    "pair_mask = mask_m & (pairs < N // 2)",  # a bound in pairs: bytes are then copied many at once
)
_LEAST_GROUP = 64
"""Of columns that share a number which is then loaded once for a tile: as deep as a tile may have to be."""
_HELPER = '''@triton.jit
def {name}({parameters}):
    """A tile of the {side} factor; `rows` and `cols` are numbers of its own rows and columns."""
    mask_m, mask_n = rows < M, cols < N
    mask = mask_m & mask_n
{lines}
    return {value}'''

_TILE = Tile("rows", "cols", False)
_FINITE = {
    LEAF, CAST, INDEX, "where", "add", "sub", "rsub", "mul", "neg",
    "bitwise_and", "bitwise_or", "bitwise_right_shift", "bitwise_left_shift",
}  # fmt: skip
"""Operators that make finite numbers of small ones."""


@dataclass(frozen=True)
class ComputedOperand:
    helper: str
    """A function that gives a tile."""
    leaves: tuple[KernelStep, ...]
    """Tensors that it reads, contiguous ones."""
    sizes: dict[str, Dim]
    """What index arithmetic needs."""
    call: str
    """The tile for `k` and the rows of a kernel's tile."""
    group: int = 0
    """What `BLOCK_K` must divide; 0 where that does not matter."""


def compute_operand(low: Lowering, factor: Factor, kernel: str, side: str, meets_zeros: bool) -> ComputedOperand:
    """`meets_zeros`: where this factor ends, the other one is zero."""
    dims = factor.step.form.dims
    placer = Placer(low.symbols, TilePosition("rows", "cols", 1), dims[:-1], dims[-1:])
    value = placer.output(factor.step).value
    if any(one.step.op in (*REDUCTIONS, PRODUCT) for one in placer.values):
        raise Unmatched("multiplies what it reduces")
    numbers = [given for one in placer.values for given in (*one.operands, *one.step.options.values())]
    if any(isinstance(number, NamedNumber) and number.host for number in numbers):
        raise Unmatched("computes a factor with a number of its own")
    sizes = {name: prod(low.symbols.sizes[axis] for axis in dim) for name, dim in placer.sizes.items()}
    grouped = _GroupedLines(placer.values, sizes)
    pointers = [f"{leaf.name}_ptr" for leaf in factor.leaves]
    name = f"{kernel}_{side}"
    is_finite = meets_zeros and all(map(_is_finite_at_zero, placer.values))
    result = "{}" if is_finite else "tl.where(mask, {}, 0.0)"
    result += f".to(tl.{factor.step.dtype})"

    def filled(line: str) -> str:
        return re.sub(r"(tl\.load\(.*mask=[^),]*)\)", r"\1, other=0)", line) if is_finite else line

    if side == "right" and not factor.view and (grouped.group or grouped.pairs is not None):
        own = [*pointers, "rows", "start", "M", "N"]
        constants = [*placer.sizes, "BLOCK_N", "BLOCK_K"]
        helper = _GROUPED_HELPER.format(
            name=name,
            parameters="\n".join(f"    {one}," for one in (*own, *(f"{one}: tl.constexpr" for one in constants))),
            side=side,
            lines="\n".join(f"    {line}" for line in map(filled, grouped.lines)),
            value=result.format(grouped.named(value.name)),
        )
        given = ", ".join([*pointers, "cols[:, None]", "start", "N", "K", *constants])
        return ComputedOperand(
            helper, factor.leaves, dict(placer.sizes), f"tl.trans({name}({given}))", grouped.group
        )
    lines = write_on_one_tile(placer, _TILE, ())
    parameters = [*pointers, "rows", "cols", "M", "N", *(f"{size}: tl.constexpr" for size in placer.sizes)]
    helper = _HELPER.format(
        name=name,
        parameters=", ".join(parameters),
        side=side,
        lines="\n".join(f"    {line}" for line in map(filled, lines)),
        value=result.format(value.name),
    )
    return ComputedOperand(
        helper,
        factor.leaves,
        dict(placer.sizes),
        f"{name}({', '.join([*pointers, *_indices(factor, side), *placer.sizes])})",
    )


def _is_finite_at_zero(value: PlacedValue) -> bool:
    """Whether this is a finite number wherever all that is loaded is zero, since its operands are."""
    numbers = (one for one in value.operands if not isinstance(one, PlacedValue))
    return value.step.op in _FINITE and all(isinstance(one, int | float) and isfinite(one) for one in numbers)


class _GroupedLines:
    """A tile whose columns lie within one group, so that numbers of a group are loaded once for each row.

    Two neighbors may be parts of one number: then the number is loaded once, too, and its parts are interleaved.
    """

    def __init__(self, values: Sequence[PlacedValue], sizes: Mapping[str, int]) -> None:
        """`sizes` are those that index arithmetic needs, in the task."""
        self._values, self._sizes = values, sizes
        self._same: dict[str, str] = {}
        """Names of values that are others, by name."""
        self.pairs = self._find_pairs()
        spans = [self._size(found) for value in values for found in self._spans(value)]
        self.group = gcd(*spans) if spans else 0
        self.lines = self._written()

    def named(self, name: str) -> str:
        return self._same.get(name, name)

    def _written(self) -> list[str]:
        pairs = self.pairs or _Pairs(None, frozenset(), frozenset())
        lines = [*_PAIRS] if self.pairs else []
        loaded: dict[tuple[KernelStep, str], str] = {}
        for value in self._values:
            if value in pairs.choices:
                continue
            key = (value.step, value.text)
            if value in pairs.parts and key in loaded and value.step.op == LEAF:
                self._same[value.name] = loaded[key]
                continue
            loaded[key] = value.name
            line = self._line(value, pairs)
            lines += self._first(value)
            lines.append(re.sub(r"\w+", lambda found: self.named(found[0]), line))
        return lines

    def _line(self, value: PlacedValue, pairs: _Pairs) -> str:
        if value is pairs.joined:
            low, high = value.operands[1:]
            return f"{value.name} = tl.reshape(tl.join({low.name}, {high.name}), (BLOCK_N, BLOCK_K))"
        line = write_value(_TILE, value, {})
        if value in pairs.parts and value.step.op == LEAF:
            return re.sub(r"mask=[^)]*", "mask=pair_mask", re.sub(r"\(?cols // 2\)?", "pairs", line))
        if self._first(value):
            return re.sub(r"mask=[^)]*", "mask=first_mask", line.replace("cols //", "first //"))
        if self._spans(value):
            return re.sub(r"mask=[^)]*", "mask=mask_m", line.replace("cols //", "start //"))
        return line

    def _first(self, value: PlacedValue) -> list[str]:
        """Where groups are of a size that varies, lines that say where a tile's number is: they may be smaller."""
        named = [span for span in self._spans(value) if not span.isdigit()]
        first = [f"first = start if {span} % BLOCK_K == 0 else cols  # a tile in one group" for span in named]
        return [*first, "first_mask = mask_m & (first < N)"] if first else []

    def _size(self, span: str) -> int:
        return int(span) if span.isdigit() else self._sizes.get(span, 0)

    def _spans(self, value: PlacedValue) -> list[str]:
        """Of how many columns each has one number of a leaf."""
        if value.step.op != LEAF or value.place.guards or value.place.lead is None:
            return []
        found = re.findall(r"\bcols // (\w+)\b", value.text)
        sole = len(found) == len(re.findall(r"\bcols\b", value.text)) == 1
        return found if sole and self._size(found[0]) and self._size(found[0]) % _LEAST_GROUP == 0 else []

    def _find_pairs(self) -> _Pairs | None:
        choices = frozenset(one for one in self._values if one.text in ("cols % 2 < 1", "cols % 2 >= 1"))
        joined = [one for one in self._values if one.step.op == "where" and one.operands[0] in choices]
        if len(joined) != 1 or not all(isinstance(one, PlacedValue) for one in joined[0].operands[1:]):
            return None
        parts = frozenset(find_needed(joined[0].operands[1:], lambda _: True)) - choices
        others = [one for one in self._values if one is not joined[0] and one not in parts | choices]
        if any(used in parts | choices for one in others for used in one.operands):
            return None
        leaves = [one for one in parts if one.step.op == LEAF]
        whole = all(re.findall(r"\bcols\b[^)]*", one.text) == ["cols // 2"] for one in leaves)
        is_plain = all(one.step.op not in (INDEX, *SCANS) for one in parts)
        known = all({*one.place.guards} <= choices for one in leaves)
        return _Pairs(joined[0], parts, choices) if whole and known and is_plain and leaves else None


class _Pairs(NamedTuple):
    joined: PlacedValue | None
    """Which of two numbers is taken says whether a column is even."""
    parts: frozenset[PlacedValue]
    """What those are computed of, one for two columns."""
    choices: frozenset[PlacedValue]


def _indices(factor: Factor, side: str) -> list[str]:
    """Rows and columns of the factor as it was computed, which may lie across."""
    own, size, depth = (
        ("rows[:, None]", "M", "k[None, :]") if side == "left" else ("cols[None, :]", "N", "k[:, None]")
    )
    return [depth, own, "K", size] if factor.view else [own, depth, size, "K"]
