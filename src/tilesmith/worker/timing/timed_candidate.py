"""A candidate under the stopwatch. Its process holds the watch, so all it says here is checked elsewhere."""

from __future__ import annotations

from typing import Any

import torch

from tilesmith.process.descriptor import Descriptor
from tilesmith.process.protocol.candidate import DeviceWork, ProfiledCalls, TimedCalls
from tilesmith.worker.candidate.runner import BuiltModel, Runner, refuse_lazy
from tilesmith.worker.engines.gpu import profile_calls
from tilesmith.worker.task.forward_arguments import ForwardArguments, call
from tilesmith.worker.tensors import exchange
from tilesmith.worker.timing.stopwatch import Stopwatch
from tilesmith.worker.timing.timing_inputs import TimingInputs

_WARM_UP_CALLS = 3


class TimedCandidate:
    def __init__(self, runner: Runner, built: BuiltModel, inputs: TimingInputs) -> None:
        self._runner, self._model = runner, built.model
        self._stopwatch = Stopwatch(inputs, refuse_lazy)
        self._kept: Any = None
        with runner.candidate_code(), torch.no_grad():
            for _ in range(_WARM_UP_CALLS):
                self._call(inputs.current)
            self._stopwatch.time(self._call, [0], kept=0)  # whatever is loaded on its first use is loaded now
        torch.cuda.synchronize()

    def time(self, seeds: list[int], kept: int) -> TimedCalls:
        self._runner.forget_launches()
        self._kept = None
        with (
            self._runner.candidate_code(inspects=False),
            torch.no_grad(),
        ):  # the many calls at the end are inspected
            turn = self._stopwatch.time(self._call, seeds, kept)
        self._kept = turn.kept
        launches = len(self._runner.engine.launched())
        return TimedCalls(tuple(turn.samples), tuple(turn.digests), tuple(turn.late_ms), launches)

    def profile(self, seeds: tuple[int, ...]) -> ProfiledCalls:
        """The same calls, told apart by what they run."""
        with self._runner.candidate_code(inspects=False), torch.no_grad():
            one = lambda: self._call(self._stopwatch.inputs)  # noqa: E731
            calls = profile_calls([one] * len(seeds), lambda number: self._stopwatch.prepare(seeds[number]))
        work = (tuple(DeviceWork(span.name, (span.end - span.start) / 1e3) for span in spans) for spans in calls)
        return ProfiledCalls(tuple(work))

    def write_kept(self, output: str) -> Descriptor | None:
        """What one of the last timed calls returned; nobody knew then that it would be asked for."""
        return exchange.write_outputs(output, self._kept)

    def run_many_calls(self, seed: int, calls: int) -> None:
        with self._runner.candidate_code(), torch.no_grad():
            self._stopwatch.run_many_calls(self._call, seed, calls)

    def _call(self, inputs: ForwardArguments) -> Any:
        return call(self._model, inputs)
