"""Timing on a GPU: device time by events, call time by the host's clock, new inputs and a cold L2 every call.

Device time is taken behind a short sleep of the GPU, long enough for Python to enqueue a launch or two: a small
kernel is then timed, not its launch. A call that waits for the host longer than that still pays for it. Call time
is taken on an idle GPU, as a lone caller feels it.

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

_now, _event = time.perf_counter, torch.cuda.Event
_synchronize, _sleep = torch.cuda.synchronize, torch.cuda._sleep
_FLUSH_BYTES = 256 * 2**20
_SLEEP_CYCLES = 300_000
"""About 0.15 ms."""
_STRAGGLER_MS = 0.05

Call = Callable[[list[Any]], Any]


class Stopwatch:
    """Times calls on inputs it owns."""

    def __init__(self, inputs: list[Any]) -> None:
        self._base = inputs
        self.inputs = map_tensors(inputs, torch.clone)
        self._flush = torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def time(self, call: Call, seeds: list[int]) -> tuple[list[list[float]], Any]:
        """[device ms, call ms] per seed, and what the last call returned."""
        samples: list[list[float]] = []
        result: Any = None
        for seed in seeds:
            device_ms = self._device_ms(call, seed)
            vary_for_timing(self.inputs, self._base, seed)
            self._flush.zero_()
            _synchronize()
            began = _now()
            result = call(self.inputs)
            _synchronize()
            samples.append([device_ms, (_now() - began) * 1e3])
        return samples, result

    def _device_ms(self, call: Call, seed: int) -> float:
        """From the first event to the last; work on other streams that outlives them counts too."""
        vary_for_timing(self.inputs, self._base, seed + 1)
        self._flush.zero_()
        _synchronize()
        start, end = _event(enable_timing=True), _event(enable_timing=True)
        _sleep(_SLEEP_CYCLES)
        start.record()
        call(self.inputs)
        end.record()
        end.synchronize()
        ended = _now()
        _synchronize()
        straggling_ms = (_now() - ended) * 1e3
        return float(start.elapsed_time(end)) + (straggling_ms if straggling_ms > _STRAGGLER_MS else 0.0)
