"""The candidate child: the only process that runs a candidate's kernels.

It answers with outputs, never with judgements. Everything it says could be forged by the code it runs, so the
parent believes only what another process can confirm: values, and times that its own clock allows.
"""

from __future__ import annotations

import contextlib
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from tilesmith.worker import exchange
from tilesmith.worker.bench import Stopwatch
from tilesmith.worker.channel import Channel
from tilesmith.worker.compile import install_fake_driver
from tilesmith.worker.faults import explain_fault
from tilesmith.worker.guards import GuardedMemory
from tilesmith.worker.interpret import install as install_interpreter
from tilesmith.worker.launches import LaunchLog, share_of_device_time
from tilesmith.worker.loading import adopt_sizes, construct, execute
from tilesmith.worker.precision import set_precision
from tilesmith.worker.pretend_cuda import pretend_cuda
from tilesmith.worker.serving import Operation, answer_requests
from tilesmith.worker.state import Transfer, fill
from tilesmith.worker.taskside import seed_everything


def serve(channel: Channel) -> None:
    candidate = Candidate()
    operations: dict[str, Operation] = {
        "load": candidate.load,
        "compile_ahead": candidate.compile_ahead,
        "run": candidate.run,
        "construct": candidate.construct,
        "inspect": candidate.inspect,
        "prepare_timing": candidate.prepare_timing,
        "time": candidate.time,
        "timed_output": candidate.timed_output,
    }
    answer_requests(channel, operations, lambda error: explain_fault(error, candidate.path))


class Candidate:
    """One kernel file in one process; each public method answers one request."""

    path = ""

    def load(self, path: str, text: str, device: str, target: str, precision: str) -> dict[str, Any]:
        self.path, self._device, self._target = path, device, target
        set_precision(precision)
        self._models: dict[str, _Built] = {}
        if device == "cuda":
            torch.cuda.init()
            self._log = LaunchLog()
        else:
            self._interpreter = install_interpreter()
            install_fake_driver(target)
        with self._world():
            self._class = execute(path, text)
        return {}

    def construct(self, variant: str, construction: str) -> dict[str, Any]:
        """Build ModelNew for one shape of the task, and fill it with the reference's state."""
        plan = exchange.read_trusted(construction)
        with self._world():
            model, transfer = construct(self._class, plan, self._device)
        self._models[variant] = _Built(model, transfer, plan)
        return {"stale": [f"{copy} is a copy of {source}" for copy, source in transfer.stale.items()]}

    def compile_ahead(self, variant: str, inputs: str) -> dict[str, Any]:
        """Compile what one forward launches without launching it, so that the GPU stays free for others.

        Best effort: whatever fails here fails again, and is judged, in the first real run.
        """
        with self._log.compiling_only(), contextlib.suppress(Exception):
            self._forward(self._models[variant], self._given(inputs), nullcontext())
        return {}

    def run(
        self,
        variant: str,
        inputs: str,
        output: str,
        pads: str | None = None,
        schedule: int = 0,
        choice: int = 0,
        limit_s: float | None = None,
    ) -> dict[str, Any]:
        """One forward on the inputs in a file, from the given state, into poisoned memory."""
        guard = GuardedMemory(pads if self._device == "cuda" else None)
        given = self._given(inputs)
        kept = exchange.map_tensors(given, torch.clone)
        guarded = [
            exchange.map_tensors(v, lambda t, i=i: guard.padded(t, f"input {i}")) for i, v in enumerate(given)
        ]
        self._forget_launches(schedule, choice, limit_s)
        outputs = self._forward(self._models[variant], guarded, guard)
        devices = sorted({str(t.device.type) for t in exchange.tensors_in(outputs)})
        changed = [i for i, (a, b) in enumerate(zip(guarded, kept, strict=True)) if not _same(a, b)]
        exchange.write_outputs(output, outputs)
        return {
            "launches": self._launch_names(),
            "changed_inputs": changed,
            "devices": devices,
            "damage": guard.damage(),
            "autotuned": getattr(self._interpreter, "autotuned", 0) if self._device == "cpu" else 0,
        }

    def inspect(self, variant: str, inputs: str) -> dict[str, Any]:
        """After a settled call: what its kernels use, and their share of the device's time."""
        given = self._given(inputs)
        built = self._models[variant]
        self._log.forget()
        self._forward(built, given, nullcontext())
        names = self._log.kernel_names()
        resources = self._log.resources(self._target)
        with torch.no_grad():
            share = share_of_device_time(lambda: built.model(*given), names)
        return {"resources": resources, "triton_time_share": share}

    def prepare_timing(self, variant: str, inputs: str) -> dict[str, Any]:
        self._stopwatch = Stopwatch(self._given(inputs))
        self._timed = self._models[variant].model
        with torch.no_grad():
            for _ in range(3):
                self._timed(*self._stopwatch.inputs)
        torch.cuda.synchronize()
        return {}

    def time(self, seeds: list[int]) -> dict[str, Any]:
        with torch.no_grad():
            samples, self._timed_result = self._stopwatch.time(lambda inputs: self._timed(*inputs), seeds)
        return {"samples": samples}

    def timed_output(self, output: str) -> dict[str, Any]:
        """What the last timed call returned; nobody knew then that it would be asked for."""
        exchange.write_outputs(output, self._timed_result)
        return {}

    def _forward(self, built: _Built, inputs: list[Any], guard: AbstractContextManager[Any]) -> Any:
        adopt_sizes(built.plan.get("sizes", {}))
        fill(built.model, built.transfer, built.plan["state"])
        seed_everything(built.plan["seed"])
        with self._world(), guard, torch.no_grad():
            outputs = built.model(*inputs)
        if self._device == "cuda":
            torch.cuda.synchronize()
        return outputs

    def _given(self, path: str) -> list[Any]:
        return exchange.read_inputs(path, self._device)

    def _forget_launches(self, schedule: int, choice: int, limit_s: float | None) -> None:
        if self._device == "cuda":
            self._log.forget()
        else:
            self._interpreter.forget()
            self._interpreter.reschedule(schedule)
            self._interpreter.autotune_choice = choice
            self._interpreter.deadline = time.monotonic() + limit_s if limit_s else None

    def _launch_names(self) -> list[str]:
        if self._device == "cuda":
            return list(self._log.names)
        return [launch.kernel for launch in self._interpreter.launches]

    def _world(self) -> AbstractContextManager[Any]:
        return pretend_cuda() if self._device == "cpu" else nullcontext()


@dataclass(frozen=True)
class _Built:
    model: Any
    transfer: Transfer
    plan: dict[str, Any]


def _same(given: Any, kept: Any) -> bool:
    """Bit for bit, so that a NaN equals itself."""
    pairs = zip(exchange.tensors_in([given]), exchange.tensors_in([kept]), strict=True)
    return all(torch.equal(_bytes(a), _bytes(b)) for a, b in pairs)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().flatten().view(torch.uint8) if tensor.numel() else tensor
