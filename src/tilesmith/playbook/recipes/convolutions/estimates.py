"""Which way to convolve is worth it, by bytes and FLOPs alone; on a GPU the tuner measures.

A way is expected to reach a share of the peak of the tensor cores, and memory's whole speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilesmith.playbook.graph.operators import is_free
from tilesmith.playbook.graph.steps import WIDTHS, KernelStep
from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.records import GpuPeaks
from tilesmith.tasks.gpus import Gpu

_SHARE = 1 / 8
"""Of the peak, where windows are gathered number by number."""
_PADDED_SHARE = 1 / 4
"""Of the peak, where they are whole pieces of memory."""
_FEW_CHANNELS = 32
"""With fewer in a group, PyTorch reaches no more of the peak than such a kernel: 13 TFLOP/s of an H200's 494 were
measured on three channels."""
_LAUNCH_S, _STEP_S = 2e-6, 2.5e-7
"""Assumed of a launch, and of one block of a sum that a program goes through: some are on their way at a time."""
_BLOCK_K = 32
_EXACT_PRODUCTS = {0: 1, 1: 1, 2: 6}
"""Products for each product of numbers, where they are read as they lie, by the halves that they would be."""
_LEAST_ROWS, _WHOLE_CHANNELS = 16, 4
"""Of a tile, and of a copied image: what is not there is multiplied, too."""


@dataclass(frozen=True)
class Estimate:
    """Seconds that the ways to compute a region take at least."""

    fused: FusedKernel
    convolution: Convolution
    halves: int
    gpu: GpuPeaks | Gpu
    height: int
    """Output channels in a tile of what reads images where they lie."""
    tiles: int

    @property
    def flops(self) -> float:
        one = self.convolution
        places = prod((one.images if one.is_transposed else one.step).form.shape)
        return 2.0 * places * prod(one.filters.form.shape[1:])

    def pytorch(self) -> float:
        """The convolution at its roofline, unless channels are few, and a pass for each operator behind it."""
        one = self.convolution
        works = [node for node in self.fused.graph.nodes if not is_free(node)]
        passes = max(0, len(works) - 1)
        each = max(_LAUNCH_S, self._moving(2 * _bytes(one.step)))
        moved = self._moving(_bytes(one.images) + _bytes(one.step))
        peak = {0: self.gpu.fp16_tflops, 1: self.gpu.tf32_tflops, 2: self.gpu.fp32_tflops}[self.halves]
        share = _SHARE if one.channels < _FEW_CHANNELS else 1.0
        work = self.flops / ((peak or self.gpu.fp32_tflops) * 1e12 * share)
        return max(_LAUNCH_S, moved, work) + passes * each

    def direct(self) -> float:
        """In one kernel that reads images where they lie."""
        one, gpu = self.convolution, self.gpu
        packed = max(1, self.height // one.rows) if one.groups > 1 else 1
        rows = min(packed, one.groups) * one.rows
        wasted = min(packed, one.groups) * -(-rows // self.height) * self.height / rows
        peak = (gpu.tf32_tflops or gpu.fp32_tflops) if self.halves == 1 else gpu.fp16_tflops
        full = min(1.0, self.tiles / gpu.multiprocessors)
        work = self.flops * wasted * _EXACT_PRODUCTS[self.halves]
        depth = one.channels * prod(one.filters.form.shape[2:]) * min(packed, one.groups)
        sums = max(work / (peak * 1e12 * _SHARE * full), depth / _BLOCK_K * _STEP_S)
        return max(_LAUNCH_S, self._moving(self._least), sums)

    def padded(self) -> float:
        """After a copy of the images as halves: they are read twice, and written and read once."""
        one, halves, read = self.convolution, max(1, self.halves), 2 if self.halves else 1
        wider = -(-one.channels // _WHOLE_CHANNELS) * _WHOLE_CHANNELS / one.channels
        copied = (read - 1) * _bytes(one.images) + 2 * 2 * halves * wider * prod(one.images.form.shape)
        wasted = wider * max(1.0, _LEAST_ROWS / one.rows) * (3 if self.halves == 2 else 1)
        work = self.flops * wasted / (self.gpu.fp16_tflops * 1e12 * _PADDED_SHARE)
        return (1 + read) * _LAUNCH_S + max(self._moving(self._least), work) + self._moving(copied)

    @property
    def _least(self) -> int:
        steps = {*self.fused.loaded, self.convolution.images, *(output.step for output in self.fused.outputs)}
        return sum(map(_bytes, steps))

    def _moving(self, size: float) -> float:
        return size / (self.gpu.memory_gb_per_s * 1e9)


def _bytes(step: KernelStep) -> int:
    return prod(step.form.shape) * WIDTHS[step.dtype]
