"""Timing on a GPU: device time by events, call time by the host's clock, new inputs and a cold L2 every call.

Device time is taken behind a short sleep of the GPU, long enough for Python to enqueue a few launches: small
kernels are then timed, not their launches. A call that waits for the host longer than that still pays for it. Call
time is taken on an idle GPU, as a lone caller feels it.

The functions used here are bound before any candidate is loaded, and events are used as the C type they are, so a
candidate that patches torch's events or clocks does not reach them. Every timed call leaves a digest of its outputs
and any of them may be kept whole: nobody knows beforehand which will be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from tilesmith.worker.compat.torch_names import CudaEvent, sleep_on_gpu
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.tensors.exchange import flatten, map_tensors
from tilesmith.worker.timing.digests import Digest, digest_of
from tilesmith.worker.timing.timing_inputs import TimingInputs

_now = time.perf_counter
_synchronize, _current_stream = torch.cuda.synchronize, torch.cuda.current_stream
_FLUSH_BYTES = 256 * 2**20
_SLEEP_CYCLES = 800_000
"""About 0.4 ms."""
_LATE_MS = 0.05

Call = Callable[[ForwardArguments], Any]


@dataclass
class TimedTurn:
    """What a few timed calls in a row gave; two calls per seed, for device time and for call time."""

    samples: list[tuple[float, float]] = field(default_factory=list)
    """Device ms and call ms per seed."""
    late_ms: list[float] = field(default_factory=list)
    """Per seed: work that went on when the caller's stream was done."""
    digests: list[tuple[Digest, ...]] = field(default_factory=list)
    """Per call, per output."""
    kept: Any = None
    """A copy of the outputs of the one call that was asked for."""


class Stopwatch:
    """Times calls on inputs it owns."""

    def __init__(self, inputs: TimingInputs, inspect: Callable[[Any], None] = lambda _: None) -> None:
        """`inspect` sees what every call returned, outside of the timed part."""
        self._inputs, self._inspect, self._digests = inputs, inspect, True
        self.inputs = inputs.current
        self._flush = torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def time(self, call: Call, seeds: list[int], kept: int | None = None, digests: bool = True) -> TimedTurn:
        """`kept` counts calls: 2 i is the one for device time of seed i, 2 i + 1 the one for its call time."""
        turn = TimedTurn()
        self._digests = digests
        for seed in seeds:
            device_ms, late_ms = self._device_ms(call, seed, turn, kept)
            self.prepare(seed)
            began = _now()
            result = call(self.inputs)
            _synchronize()
            turn.samples.append((device_ms, (_now() - began) * 1e3))
            turn.late_ms.append(late_ms)
            self._note(turn, result, kept)
            del result  # or the next call would need room beside it
        return turn

    def run_many_calls(self, call: Call | None, seed: int, calls: int) -> None:
        """Many calls in a row with new inputs, for a clock outside of this process; None varies the inputs only."""
        for i in range(calls):
            self._inputs.vary(seed + i)
            if call is not None:
                self._inspect(call(self.inputs))
        _synchronize()

    def prepare(self, seed: int) -> None:
        """New inputs and a cold L2, and nothing that runs any more."""
        _seed(seed)
        self._inputs.vary(seed)
        self._flush.zero_()
        _synchronize()

    def _device_ms(self, call: Call, seed: int, turn: TimedTurn, kept: int | None) -> tuple[float, float]:
        """From the first event to the last; work on other streams that outlives them counts too.

        New inputs come behind the sleep: work that does not wait for the caller's stream sees the old ones.
        """
        _seed(seed + 1)
        _synchronize()
        start, end, stream = CudaEvent(enable_timing=True), CudaEvent(enable_timing=True), _current_stream()
        sleep_on_gpu(_SLEEP_CYCLES)
        self._inputs.vary(seed + 1)
        self._flush.zero_()
        start.record(stream)
        result = call(self.inputs)
        flatten(result)  # a container that computes when it is looked at computes here
        end.record(stream)
        end.synchronize()
        ended = _now()
        _synchronize()
        late_ms = (_now() - ended) * 1e3
        self._note(turn, result, kept)
        late = late_ms if late_ms > _LATE_MS else 0.0
        return float(start.elapsed_time(end)) + late, late

    def _note(self, turn: TimedTurn, result: Any, kept: int | None) -> None:
        """Outside of the timed part."""
        self._inspect(result)
        if len(turn.digests) == kept:
            turn.kept = map_tensors(result, torch.clone)
        if self._digests:
            turn.digests.append(tuple(digest_of(tensor) for tensor in flatten(result).tensors))


def _seed(seed: int) -> None:
    """As `torch.manual_seed` does for the CPU and this GPU; it costs a tenth of a millisecond for all others."""
    torch.default_generator.manual_seed(seed)
    torch.cuda.default_generators[torch.cuda.current_device()].manual_seed(seed)
