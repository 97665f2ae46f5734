"""Timing on a GPU: device time by events, call time by the host's clock, new inputs and a cold L2 every call.

The functions used here are bound before any candidate is loaded, so a candidate that patches torch's events or
clocks does not reach them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from tilesmith.worker.draws import vary_for_timing
from tilesmith.worker.exchange import map_tensors

_now = time.perf_counter
_FLUSH_BYTES = 256 * 2**20


class Stopwatch:
    """Times calls on inputs it owns."""

    def __init__(self, inputs: list[Any]) -> None:
        self._event, self._synchronize = torch.cuda.Event, torch.cuda.synchronize
        self._base = inputs
        self.inputs = map_tensors(inputs, torch.clone)
        self._flush = torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def time(self, call: Callable[[list[Any]], Any], seeds: list[int]) -> tuple[list[list[float]], Any]:
        """[device ms, call ms] per seed, and what the last call returned."""
        samples: list[list[float]] = []
        result: Any = None
        for seed in seeds:
            vary_for_timing(self.inputs, self._base, seed)
            self._flush.zero_()
            start, end = self._event(enable_timing=True), self._event(enable_timing=True)
            self._synchronize()
            began = _now()
            start.record()
            result = call(self.inputs)
            end.record()
            self._synchronize()
            samples.append([start.elapsed_time(end), (_now() - began) * 1e3])
        return samples, result
