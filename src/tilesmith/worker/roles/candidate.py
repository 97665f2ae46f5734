"""The candidate child: the only process that runs a candidate's kernels.

It answers with outputs, never with judgments. Everything it says could be forged by the code it runs, so the
parent believes only what another process can confirm: values, and times that its own clock allows.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from tilesmith.process.channel import Channel
from tilesmith.worker.candidate import input_placement, replay_without_launches
from tilesmith.worker.candidate.faults import explain_fault
from tilesmith.worker.candidate.loading import construct, execute
from tilesmith.worker.candidate.runner import Built, Runner
from tilesmith.worker.engines.gpu import observe
from tilesmith.worker.fake_cuda.streams import unjoined
from tilesmith.worker.roles.request_loop import Operation, answer_requests
from tilesmith.worker.task.torch_steps import MOST_STEPS, Step
from tilesmith.worker.tensors import exchange
from tilesmith.worker.tensors.tensor_file import write_tensors
from tilesmith.worker.timing.timed_candidate import TimedCandidate
from tilesmith.worker.timing.timing_inputs import TimingInputs
from tilesmith.worker.truth.model_state import state_of
from tilesmith.worker.truth.precision import set_precision
from tilesmith.worker.watch.provenance import Provenance


def serve(channel: Channel) -> None:
    candidate = Candidate(channel)
    operations: dict[str, Operation] = {
        "load": candidate.load,
        "construct": candidate.construct,
        "compile_ahead": candidate.compile_ahead,
        "replay": candidate.replay,
        "run": candidate.run,
        "inspect": candidate.inspect,
        "prepare_timing": candidate.prepare_timing,
        "time": candidate.time,
        "timed_output": candidate.timed_output,
        "run_through": candidate.run_through,
    }
    answer_requests(channel, operations, lambda error: explain_fault(error, candidate.path))


class Candidate:
    """One kernel file in one process; each public method answers one request."""

    path = ""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._models: dict[str, Built] = {}
        self._inputs = input_placement.PlacedInputs()
        self._sizes: dict[str, frozenset[int]] = {}
        """How many elements the outputs of each variant have, once that is known."""

    def load(self, path: str, text: str, device: str, target: str, precision: str, task: str) -> dict[str, Any]:
        self.path = path
        set_precision(precision)
        self._runner = Runner(path, task, device, target, self._channel)
        with self._runner.candidate_code():
            self._class = execute(path, text)
        return {}

    def construct(self, variant: str, construction: str) -> dict[str, Any]:
        """Build ModelNew for one shape of the task, and fill it with the reference's state."""
        plan = exchange.read_trusted(construction)
        with self._runner.candidate_code():
            model, transfer = construct(self._class, plan, self._runner.device)
        self._models[variant] = Built(model, transfer, plan)
        return {"stale": [f"{copy} is a copy of {source}" for copy, source in transfer.stale.items()]}

    def compile_ahead(self, variant: str, inputs: str) -> dict[str, Any]:
        """Compile what one forward launches without launching it, so that the GPU stays free for others.

        Best effort: whatever fails here fails again, and is judged, in the first real run.
        """
        with self._runner.launches.compiling_only(), contextlib.suppress(Exception):
            self._runner.forward(self._models[variant], self._read(inputs))
        return {}

    def replay(
        self, variant: str, inputs: str, outputs: dict[str, str], calls: int, limit_s: float
    ) -> dict[str, Any]:
        return replay_without_launches.replay(
            self._runner, self._models[variant], self._read(inputs), outputs, calls, limit_s
        )

    def run(
        self,
        variant: str,
        inputs: str,
        output: str,
        pads: str | None = None,
        schedule: int = 0,
        choice: int = 0,
        limit_s: float | None = None,
        in_place: bool = False,
        torchs_own: str | None = None,
    ) -> dict[str, Any]:
        """One forward on the inputs in a file, from the given state, into poisoned memory.

        `in_place` puts the inputs where those of the last run lie, without a trace for who keeps addresses.
        `torchs_own` is a file for what torch made without a kernel.
        """
        values, on_gpu = self._read(inputs), self._runner.device == "cuda"
        kept = exchange.map_tensors(values, torch.clone)
        guard, guarded = self._inputs.lay_out(values, pads if on_gpu else None, in_place)
        self._runner.forget_launches(schedule, choice, limit_s)
        steps: list[Step] = []
        if torchs_own is None:
            outputs = self._runner.forward(self._models[variant], guarded, guard)
        else:
            outputs, steps = self._watched_forward(variant, guarded, guard, torchs_own)
        tensors = exchange.tensors_in([outputs])
        self._sizes[variant] = frozenset(tensor.numel() for tensor in tensors)
        exchange.write_outputs(output, outputs)
        return {
            "launches": self._runner.launched(),
            "torchs_steps": steps,
            "changed_inputs": input_placement.changed(guarded, kept),
            "devices": sorted({str(t.device.type) for t in tensors}),
            "damage": guard.damage(),
            "unjoined": [] if on_gpu else unjoined(),
            "autotuned": 0 if on_gpu else self._runner.launches.autotuned,
        }

    def _watched_forward(self, variant: str, inputs: list[Any], guard: Any, path: str) -> tuple[Any, list[Step]]:
        """Keeps what torch made without a kernel, for whoever knows the answer, and lists what it computed."""
        built = self._models[variant]
        weights = [tensor for name, tensor in state_of(built.model).items() if name in built.transfer.sources]
        known = [*exchange.tensors_in(inputs), *weights]
        provenance = Provenance(known, self._sizes.get(variant))
        with self._runner.observing_launches(provenance):
            outputs = self._runner.forward(built, inputs, guard, provenance)
        write_tensors(path, *provenance.resembling(exchange.tensors_in([outputs])))
        return outputs, provenance.steps[:MOST_STEPS]

    def inspect(self, variant: str, inputs: str) -> dict[str, Any]:
        """After a settled call: what its kernels use, their share of the device's time, and stray streams."""
        values, built = self._read(inputs), self._models[variant]
        self._runner.forget_launches()
        self._runner.forward(built, values)
        names = self._runner.launches.kernel_names()
        resources = self._runner.launches.resources(self._runner.target)
        with self._runner.candidate_code(), torch.no_grad():
            seen = observe(lambda: built.model(*values), names)
        return {"resources": resources, "triton_time_share": seen.share, "unjoined": list(seen.unjoined)}

    def prepare_timing(self, variant: str, inputs: str, second: str | None) -> dict[str, Any]:
        values = TimingInputs(self._read(inputs), self._read(second) if second else None)
        self._timed = TimedCandidate(self._runner, self._models[variant], values)
        return {}

    def time(self, seeds: list[int], kept: int) -> dict[str, Any]:
        return self._timed.time(seeds, kept)

    def timed_output(self, output: str) -> dict[str, Any]:
        self._timed.write_kept(output)
        return {}

    def run_through(self, seed: int, calls: int) -> dict[str, Any]:
        self._timed.run_through(seed, calls)
        return {}

    def _read(self, path: str) -> list[Any]:
        return exchange.read_inputs(path, self._runner.device)
