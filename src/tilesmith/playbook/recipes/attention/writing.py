"""An attention with what follows it as text: the kernel's body and the function that launches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.graph.placement import PlacedValue, Placer
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import LEAF
from tilesmith.playbook.graph.sums.attention import INVERSE_ROOT, Attention
from tilesmith.playbook.graph.sums.factors import Factor
from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.attention import sources
from tilesmith.playbook.recipes.attention.tiles import BLOCKS
from tilesmith.playbook.recipes.products.sources import LOAD_ROWS, SPLIT_ROWS
from tilesmith.playbook.recipes.products.writing import MASKS, TILE
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, names_in
from tilesmith.playbook.writing.kernel_body import write_on_one_tile

_SPLIT = tuple(f"{side}_{part}" for side in ("q", "k", "v") for part in ("high", "low", "scale"))
_STRIDES = {"q": ("b", "h", "m", "k"), "k": ("b", "h", "n", "k"), "v": ("b", "h", "d", "n")}
_LOG2_E = "1.4426950408889634"
_FEW_ROWS = 16


@dataclass(frozen=True)
class AttentionWriter:
    fused: FusedKernel
    attention: Attention
    inner: Placer
    """A tile of queries and keys."""
    weights: PlacedValue
    """What the scores become on it."""
    is_split: bool
    """Whether every number is two halves, made beforehand."""
    dtype: str

    def write(self, prefix: str) -> KernelParts:
        fused = self.fused
        own = (*(f"{name}_ptr" for name in self._factors), *_pointers(self.inner))
        if len({*own, *fused.pointers}) < len(self._factors) + len(fused.pointers):
            raise Unmatched("has a tensor whose name the kernel needs")
        return KernelParts(
            name=fused.name,
            pointers=(*(f"{name}_ptr" for name in self._factors), *fused.pointers),
            sizes=("M", "N", *self._sizes, *fused.index_sizes),
            scalars=(*(number.name for number in fused.scalars), *self._root),
            meta=tuple(f"{name}: tl.constexpr" for name in (*BLOCKS, "BLOCK_K", "BLOCK_D")),
            body=tuple(self._body()),
            helpers=tuple(self._helpers()),
            launcher=tuple(self._launcher(prefix)),
        )

    @property
    def _factors(self) -> tuple[str, ...]:
        return _SPLIT if self.is_split else ("q", "k", "v")

    @property
    def _sizes(self) -> tuple[str, ...]:
        """Beside M and N."""
        repeats = ("REPEATS",) if self._repeats else ()
        if self.is_split:
            return ("KEYS", "K_PADDED", "V_PADDED", *repeats)
        strides = (f"{side}_stride_{axis}" for side, axes in _STRIDES.items() for axis in axes)
        return ("KEYS", "K", "HEADS", *strides, *repeats)

    @property
    def _repeats(self) -> bool:
        """Whether several heads of queries share one of keys and values."""
        counts = {one.repeats for one in (self.attention.scores.right, self.attention.mixed.right)} - {1}
        if len(counts) > 1 or self.attention.scores.left.repeats > 1:
            raise Unmatched("shares heads in several ways")
        return bool(counts)

    @property
    def _root(self) -> tuple[str, ...]:
        numbers = {
            one.name for value in self.inner.values for one in value.operands if isinstance(one, NamedNumber)
        }
        return (INVERSE_ROOT,) if INVERSE_ROOT in numbers else ()

    def _helpers(self) -> list[str]:
        found = [sources.AS_HEADS]
        if self.is_split:
            found += [LOAD_ROWS, SPLIT_ROWS, sources.MULTIPLY_SPLIT]
            found += (
                [sources.SPLIT_POWERS] if self.attention.has_softmax else [sources.SPLIT, sources.SCALE_WEIGHTS]
            )
        return [*found, *([self._scores_helper] if self._changes_scores else [])]

    @property
    def _changes_scores(self) -> bool:
        return self.weights.step is not self.attention.scores.step

    @cached_property
    def _scores_name(self) -> str:
        return f"{self.fused.name}_scores"

    @property
    def _scores_arguments(self) -> tuple[str, ...]:
        """Of the helper, behind the scores and where they are."""
        named = {number.name for number in self.fused.scalars}
        used = [one for value in self.inner.values for one in (*value.operands, *value.step.options.values())]
        numbers = dict.fromkeys(one.name for one in used if isinstance(one, NamedNumber) and one.name in named)
        return (*_pointers(self.inner), *numbers, *self._root)

    @cached_property
    def _scores_lines(self) -> list[str]:
        return write_on_one_tile(self.inner, TILE, ())

    @property
    def _scores_sizes(self) -> list[str]:
        used = names_in(self._scores_lines)
        return [name for name in self.inner.sizes if name in used]

    @property
    def _scores_helper(self) -> str:
        product = next(one for one in self.inner.values if one.step is self.attention.scores.step)
        own = [product.name, *self._scores_arguments, "rows", "cols", "N"]
        parameters = [*own, *(f"{size}: tl.constexpr" for size in self._scores_sizes)]
        told = "What a softmax takes of a tile" if self.attention.has_softmax else "A tile of weights"
        return sources.SCORES.format(
            name=self._scores_name,
            parameters="\n".join(f"    {one}," for one in parameters),
            told=told,
            lines="\n".join(f"    {line}" for line in self._scores_lines),
            value=self.weights.name,
        )

    def _body(self) -> list[str]:
        fused, value = self.fused, self.attention.mixed.step
        name = next(one.name for one in fused.placer.values if one.step is value)
        return [
            "tiles = tl.cdiv(M, BLOCK_M)",
            "batch = (tl.program_id(0) // tiles).to(tl.int64)",
            "rows = tl.program_id(0) % tiles * BLOCK_M + tl.arange(0, BLOCK_M)",
            "depth, cols = tl.arange(0, BLOCK_K), tl.arange(0, BLOCK_D)",
            "q_rows = batch * M + tl.minimum(rows, M - 1)  # beyond the last row, the last will do",
            *(self._begin_split() if self.is_split else self._begin()),
            "mixed = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)",
            *(
                (
                    'peak = tl.full((BLOCK_M,), float("-inf"), tl.float32)',
                    "total = tl.zeros((BLOCK_M,), tl.float32)",
                )
                if self.attention.has_softmax
                else ()
            ),
            *self._bounds(),
            *(f"    {line}" for line in self._loop()),
            *self._end(name),
            *MASKS,
            "rows, cols = (batch * M + rows)[:, None], cols[None, :]",
            *write_on_one_tile(fused.placer, TILE, fused.outputs),
        ]

    def _bounds(self) -> list[str]:
        """The head of the loop over all keys that some query of the tile sees."""
        least, most = self.attention.band
        lines: list[str] = []
        if least is not None:
            lines.append(f"first = tl.maximum(tl.min(rows, axis=0) + {least}, 0) // BLOCK_N * BLOCK_N")
        if most is not None:
            lines.append(f"last = tl.minimum(tl.max(rows, axis=0) + {most + 1}, KEYS)")
        first, last = "0" if least is None else "first", "KEYS" if most is None else "last"
        return [*lines, f"for start in range({first}, {last}, BLOCK_N):"]

    def _begin_split(self) -> list[str]:
        lines = [
            "q_offs = q_rows[:, None] * K_PADDED + depth[None, :]",
            "whole = depth < K_PADDED",
            "q_high = tl.load(q_high_ptr + q_offs, mask=whole[None, :], other=0.0)",
            "q_low = tl.load(q_low_ptr + q_offs, mask=whole[None, :], other=0.0)",
            "q_scale = tl.load(q_scale_ptr + q_rows)[:, None]",
            f"first_key = {_shared('batch', self.attention.scores.right)} * KEYS",
        ]
        v_rows = f"v_rows = {_shared('batch', self.attention.mixed.right)} * N + tl.minimum(cols, N - 1)"
        return [*lines, f"{v_rows}  # values lie in columns"]

    def _begin(self) -> list[str]:
        keys, values = self.attention.scores.right, self.attention.mixed.right
        return [
            "outer, head = batch // HEADS, batch % HEADS",
            "q_ptrs = q_ptr + outer * q_stride_b + head * q_stride_h + rows[:, None].to(tl.int64) * q_stride_m",
            "q_mask = (rows < M)[:, None] & (depth < K)[None, :]",
            "q = tl.load(q_ptrs + depth[None, :] * q_stride_k, mask=q_mask, other=0.0)",
            f"k_ptrs = k_ptr + outer * k_stride_b + {_shared('head', keys)} * k_stride_h"
            " + depth[:, None] * k_stride_k",
            f"v_ptrs = v_ptr + outer * v_stride_b + {_shared('head', values)} * v_stride_h"
            " + cols[None, :] * v_stride_d",
        ]

    def _loop(self) -> list[str]:
        softmax = [
            'scores = tl.where(inside[None, :], scores, float("-inf"))',
            "higher = tl.maximum(peak, tl.max(scores, axis=1))",
            'shift = tl.where(higher == float("-inf"), 0.0, higher)  # no key may be seen so far',
            f"decay = tl.exp2((peak - shift) * {_LOG2_E})",
            f"weights = tl.exp2((scores - shift[:, None]) * {_LOG2_E}{self._lift})",
            "total = total * decay + tl.sum(weights, axis=1)",
            "peak = higher",
        ]
        plain = ["weights = tl.where(inside[None, :], scores, 0.0)"]
        return [
            "keys = start + tl.arange(0, BLOCK_N)",
            "inside = keys < KEYS",
            *(self._scored_split() if self.is_split else self._scored()),
            *self._changed(),
            *(softmax if self.attention.has_softmax else plain),
            *(self._mixed_split() if self.is_split else self._mixed()),
        ]

    @property
    def _lift(self) -> str:
        """Weights of a softmax that are split are up to 2**12, so that the small ones do not vanish in halves."""
        return " + 12" if self.is_split else ""

    def _scored_split(self) -> list[str]:
        return [
            "k_rows = first_key + tl.minimum(keys, KEYS - 1)",
            "k_offs = k_rows[None, :] * K_PADDED + depth[:, None]",
            "k_high = tl.load(k_high_ptr + k_offs, mask=whole[:, None], other=0.0)",
            "k_low = tl.load(k_low_ptr + k_offs, mask=whole[:, None], other=0.0)",
            "scores = multiply_split(q_high, q_low, k_high, k_low)",
            "scores = scores * tl.load(k_scale_ptr + k_rows)[None, :] * q_scale",
        ]

    def _scored(self) -> list[str]:
        return [
            "k_mask = inside[None, :] & (depth < K)[:, None]",
            "k = tl.load(k_ptrs + keys[None, :].to(tl.int64) * k_stride_n, mask=k_mask, other=0.0)",
            f'scores = tl.dot(q, k, input_precision="{self._precision}")',
        ]

    def _changed(self) -> list[str]:
        if not self._changes_scores:
            return []
        given = ["scores", *self._scores_arguments, "q_rows[:, None]", "keys[None, :]", "KEYS", *self._scores_sizes]
        call = f"scores = {self._scores_name}({', '.join(given)})"
        return [call] if len(call) < 100 else [f"scores = {self._scores_name}(", f"    {', '.join(given)}", ")"]

    def _mixed_split(self) -> list[str]:
        lines = [
            "v_offs = v_rows[None, :] * V_PADDED + keys[:, None]",
            "v_mask = (keys < V_PADDED)[:, None]  # rows of values end in zeros",
            "v_high = tl.load(v_high_ptr + v_offs, mask=v_mask, other=0.0)",
            "v_low = tl.load(v_low_ptr + v_offs, mask=v_mask, other=0.0)",
        ]
        if not self.attention.has_softmax:
            return [
                *lines,
                "weights, undo = scale_weights(weights)",
                "high, low = split(weights)",
                "mixed += multiply_split(high, low, v_high, v_low) * undo[:, None]",
            ]
        return [
            *lines,
            "high, low = split(weights)",
            "mixed = mixed * decay[:, None] + multiply_split(high, low, v_high, v_low)",
        ]

    def _mixed(self) -> list[str]:
        load = [
            "v_mask = inside[:, None] & (cols < N)[None, :]",
            "v = tl.load(v_ptrs + keys[:, None].to(tl.int64) * v_stride_n, mask=v_mask, other=0.0)",
        ]
        before = "mixed * decay[:, None]" if self.attention.has_softmax else "mixed"
        if self.dtype == "float32":
            return [*load, f'mixed = {before} + tl.dot(weights, v, input_precision="{self._precision}")']
        return [*load, f'mixed = tl.dot(weights.to(v.dtype), v, {before}, input_precision="ieee")']

    @property
    def _precision(self) -> str:
        """Of halves nothing is rounded; several TF32 or bfloat16 numbers are exact to float32."""
        if self.dtype != "float32":
            return "ieee"
        return "tf32x3" if self.attention.scores.step.form.shape[-2] <= _FEW_ROWS else "bf16x6"

    def _end(self, name: str) -> list[str]:
        lines: list[str] = []
        value = "mixed"
        if self.attention.has_softmax:
            if self.attention.empty_is_zero:
                lines.append("total = tl.where(total == 0.0, 1.0, total)  # a row without any key is zero")
            value = "mixed / total[:, None]"
        if self.is_split:
            value += " * tl.load(v_scale_ptr + v_rows)[None, :]"
        return [*lines, f"{name} = {value}"]

    def _launcher(self, prefix: str) -> list[str]:
        fused, found = self.fused, self.attention
        queries, keys, values = found.scores.left, found.scores.right, found.mixed.right
        heads = [fused.product(dim) for dim in found.mixed.step.form.dims[:-2]]
        views = [self._as_heads(one, heads) for one in (queries, keys, values)]
        lines = [
            *fused.signature(),
            *fused.preparation(),
            *fused.allocations(),
            *(f"    {side}_heads = {view}" for side, view in zip(("q", "k", "v"), views, strict=True)),
            "    (M, K), KEYS, N = q_heads.shape[2:], k_heads.shape[2], v_heads.shape[2]",
        ]
        if self.is_split:
            made = (f"{side}_high, {side}_low, {side}_scale = split_rows({side}_heads)" for side in _STRIDES)
            lines += [f"    {line}" for line in made]
            sizes = ["M", "N", "KEYS", "k_high.shape[-1]", "v_high.shape[-1]"]
        else:
            strides = (f"*{side}_heads.stride()" for side in _STRIDES)
            sizes = ["M", "N", "KEYS", "K", "q_heads.shape[1]", *strides]
        if self._repeats:
            side = "k" if keys.repeats > 1 else "v"
            sizes.append(f"q_heads.shape[1] // {side}_heads.shape[1]")
        root = [f"{name}=K**-0.5" for name in self._root]
        constants = [
            *(f"{name}={prefix}{name}" for name in BLOCKS),
            "BLOCK_K=max(16, triton.next_power_of_2(K))",
            "BLOCK_D=max(16, triton.next_power_of_2(N))",
            f"num_warps={prefix}NUM_WARPS",
            f"num_stages={prefix}NUM_STAGES",
        ]
        grid = f"(triton.cdiv(M, {prefix}BLOCK_M) * q_heads.shape[0] * q_heads.shape[1],)"
        factors = self._factors if self.is_split else [f"{side}_heads" for side in _STRIDES]
        return [*lines, *fused.launch(grid, [*sizes, *root], constants, factors)]

    def _as_heads(self, factor: Factor, heads: Sequence[str]) -> str:
        own = [*heads]
        if factor.repeats > 1:
            own[-1] = f"{factor.step.name}.shape[-3]"
        return f"as_heads({factor.source}, {', '.join(own)})"


def _shared(number: str, factor: Factor) -> str:
    """The head of keys or values that belongs to one of queries, or to one of all batches."""
    return f"{number} // REPEATS" if factor.repeats > 1 else number


def _pointers(placer: Placer) -> tuple[str, ...]:
    names = dict.fromkeys(value.step.name for value in placer.values if value.step.op == LEAF)
    return tuple(f"{name}_ptr" for name in names)
