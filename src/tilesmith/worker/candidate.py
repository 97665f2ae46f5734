"""The candidate child: the only process that runs a candidate's kernels.

It answers with outputs, never with judgements. Everything it says could be forged by the code it runs, so the
parent believes only what another process can confirm: values, and times that its own clock allows.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from tilesmith.worker import exchange
from tilesmith.worker.bench import Stopwatch
from tilesmith.worker.channel import Channel
from tilesmith.worker.compile import install_fake_driver
from tilesmith.worker.compile.fake_streams import begin_call, unjoined
from tilesmith.worker.faults import explain_fault
from tilesmith.worker.guards import GuardedMemory
from tilesmith.worker.honesty.first_touch import FirstTouch, is_blank
from tilesmith.worker.honesty.ghost import in_a_fork
from tilesmith.worker.honesty.paths import Territory
from tilesmith.worker.honesty.returned import unplain
from tilesmith.worker.honesty.watch import Caught, Watch, confess
from tilesmith.worker.interpret import install as install_interpreter
from tilesmith.worker.launches import LaunchLog, observe
from tilesmith.worker.loading import adopt_sizes, construct, execute
from tilesmith.worker.precision import set_precision
from tilesmith.worker.pretend_cuda import pretend_cuda
from tilesmith.worker.serving import Operation, answer_requests
from tilesmith.worker.state import Transfer, fill, state_of
from tilesmith.worker.taskside import seed_everything
from tilesmith.worker.tensor_file import write_tensors
from tilesmith.worker.timing_inputs import TimingInputs


def serve(channel: Channel) -> None:
    candidate = Candidate(channel)
    operations: dict[str, Operation] = {
        "load": candidate.load,
        "compile_ahead": candidate.compile_ahead,
        "run": candidate.run,
        "construct": candidate.construct,
        "haunt": candidate.haunt,
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
        self._models: dict[str, _Built] = {}
        self._given_last: tuple[GuardedMemory, list[Any]] | None = None

    def load(self, path: str, text: str, device: str, target: str, precision: str, task: str) -> dict[str, Any]:
        self.path, self._device, self._target = path, device, target
        set_precision(precision)
        if device == "cuda":
            torch.cuda.init()
            self._log = LaunchLog()
        else:
            self._interpreter = install_interpreter()
            install_fake_driver(target)
        self._watch = Watch(Territory.around(path, task), lambda reason: confess(self._channel, reason))
        with self._candidate_code():
            self._class = execute(path, text)
        return {}

    def construct(self, variant: str, construction: str) -> dict[str, Any]:
        """Build ModelNew for one shape of the task, and fill it with the reference's state."""
        plan = exchange.read_trusted(construction)
        with self._candidate_code():
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

    def haunt(
        self, variant: str, inputs: str, outputs: dict[str, str], calls: int, limit_s: float
    ) -> dict[str, Any]:
        """Forward with every launch left out and fresh memory filled: what a ghost of it answers.

        `outputs` maps each fill to a file. Without a GPU all of it happens in a fork, so that nothing stays, and
        many more calls show what they would launch; with one, this child is not used for anything else.
        """

        def seance() -> dict[str, Any]:
            given, built = self._given(inputs), self._models[variant]
            with self._launched().muted():
                answered = [
                    fill for fill, path in outputs.items() if self._answers_as_ghost(built, given, fill, path)
                ]
                return {"answered": answered, "launches": self._launches_of(built, given, calls, limit_s)}

        nothing: dict[str, Any] = {"answered": [], "launches": []}
        return nothing | (in_a_fork(seance) if self._device == "cpu" else seance())

    def _answers_as_ghost(self, built: _Built, given: list[Any], fill: str, path: str) -> bool:
        try:
            outputs = self._forward(built, given, GuardedMemory(None, float(fill)))
        except Caught:
            raise
        except Exception:  # without its kernels it may well fail
            return False
        if all(map(is_blank, exchange.tensors_in([outputs]))):
            return False  # nothing but the fill: not worth a comparison
        exchange.write_outputs(path, outputs)
        return True

    def _launches_of(self, built: _Built, given: list[Any], calls: int, limit_s: float) -> list[int]:
        """How much each of many calls would launch; host code alone is quick."""
        counts: list[int] = []
        deadline = time.monotonic() + limit_s
        with contextlib.suppress(Exception), self._candidate_code(), torch.no_grad():
            while len(counts) < calls and time.monotonic() < deadline:
                self._forget_launches(0, 0, None)
                built.model(*given)
                counts.append(len(self._launch_names()))
        return counts

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
        touched: str | None = None,
    ) -> dict[str, Any]:
        """One forward on the inputs in a file, from the given state, into poisoned memory.

        `in_place` puts the inputs where those of the last run lie, without a trace for who keeps addresses.
        `touched` is a file for what tensors held before a kernel touched them.
        """
        given = self._given(inputs)
        kept = exchange.map_tensors(given, torch.clone)
        guard, guarded = self._laid_out(given, pads if self._device == "cuda" else None, in_place)
        touch = self._touch(variant, guarded) if touched else None
        self._forget_launches(schedule, choice, limit_s)
        outputs = self._forward(self._models[variant], guarded, guard)
        if touch is not None and touched is not None:
            self._launched().before_launch = lambda _: None
            tensors, positions = touch.resembling(exchange.tensors_in([outputs]))
            write_tensors(touched, tensors, positions)
        devices = sorted({str(t.device.type) for t in exchange.tensors_in(outputs)})
        changed = [i for i, (a, b) in enumerate(zip(guarded, kept, strict=True)) if not _same(a, b)]
        exchange.write_outputs(output, outputs)
        return {
            "launches": self._launch_names(),
            "changed_inputs": changed,
            "devices": devices,
            "damage": guard.damage(),
            "unjoined": unjoined() if self._device == "cpu" else [],
            "autotuned": getattr(self._interpreter, "autotuned", 0) if self._device == "cpu" else 0,
        }

    def inspect(self, variant: str, inputs: str) -> dict[str, Any]:
        """After a settled call: what its kernels use, their share of the device's time, and stray streams."""
        given = self._given(inputs)
        built = self._models[variant]
        self._log.forget()
        self._forward(built, given, nullcontext())
        names = self._log.kernel_names()
        resources = self._log.resources(self._target)
        with self._candidate_code(), torch.no_grad():
            seen = observe(lambda: built.model(*given), names)
        return {"resources": resources, "triton_time_share": seen.share, "unjoined": list(seen.unjoined)}

    def prepare_timing(self, variant: str, inputs: str, second: str | None) -> dict[str, Any]:
        self._stopwatch = Stopwatch(TimingInputs(self._given(inputs), self._given(second) if second else None))
        self._timed = self._models[variant].model
        with self._candidate_code(), torch.no_grad():
            for _ in range(3):
                self._timed(*self._stopwatch.inputs)
        torch.cuda.synchronize()
        return {}

    def time(self, seeds: list[int], kept: int) -> dict[str, Any]:
        with self._candidate_code(), torch.no_grad():
            turn = self._stopwatch.time(lambda inputs: self._timed(*inputs), seeds, kept)
        self._kept_result = turn.kept
        return {"samples": turn.samples, "digests": turn.digests, "straggling_ms": turn.straggling_ms}

    def timed_output(self, output: str) -> dict[str, Any]:
        """What one of the last timed calls returned; nobody knew then that it would be asked for."""
        exchange.write_outputs(output, self._kept_result)
        return {}

    def run_through(self, seed: int, calls: int) -> dict[str, Any]:
        with self._candidate_code(), torch.no_grad():
            self._stopwatch.run_through(lambda inputs: self._timed(*inputs), seed, calls)
        return {}

    def _forward(self, built: _Built, inputs: list[Any], guard: AbstractContextManager[Any]) -> Any:
        adopt_sizes(built.plan.get("sizes", {}))
        fill(built.model, built.transfer, built.plan["state"])
        seed_everything(built.plan["seed"])
        begin_call()
        with self._candidate_code(), guard, torch.no_grad():
            outputs = self._as_returned(built.model(*inputs))
        if self._device == "cuda":
            torch.cuda.synchronize()
        return outputs

    def _as_returned(self, outputs: Any) -> Any:
        """Copies made at once, behind what the caller's stream holds: what comes later comes too late."""
        lazy = unplain(outputs)
        if lazy is not None:
            raise Caught(f"forward returned a {lazy}, which may compute its values later; return plain tensors")
        with torch._C.DisableTorchFunction():
            return exchange.map_tensors(outputs, torch.clone)

    def _laid_out(self, given: list[Any], pads: str | None, in_place: bool) -> tuple[GuardedMemory, list[Any]]:
        """The inputs as the candidate sees them: between pads on a GPU, or at the addresses of the run before."""
        if in_place and self._given_last is not None and _refilled(self._given_last[1], given):
            return self._given_last
        guard = GuardedMemory(pads)
        guarded = [
            exchange.map_tensors(v, lambda t, i=i: guard.padded(t, f"input {i}")) for i, v in enumerate(given)
        ]
        self._given_last = guard, guarded
        return self._given_last

    def _touch(self, variant: str, inputs: list[Any]) -> FirstTouch:
        touch = FirstTouch([*exchange.tensors_in(inputs), *state_of(self._models[variant].model).values()])
        self._launched().before_launch = touch.see
        return touch

    def _launched(self) -> Any:
        return self._log if self._device == "cuda" else self._interpreter

    @contextmanager
    def _candidate_code(self) -> Iterator[None]:
        with self._world(), self._watch.over_candidate_code():
            yield

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


def _refilled(places: list[Any], given: list[Any]) -> bool:
    """Whether the new values could be put where the old ones are. Through `.data`, so that no version counts it."""
    pairs = list(zip(exchange.tensors_in(places), exchange.tensors_in(given), strict=False))
    if any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
        return False
    for place, value in pairs:
        place.data.copy_(value)
    return True


def _same(given: Any, kept: Any) -> bool:
    """Bit for bit, so that a NaN equals itself."""
    pairs = zip(exchange.tensors_in([given]), exchange.tensors_in([kept]), strict=True)
    return all(torch.equal(_bytes(a), _bytes(b)) for a, b in pairs)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().flatten().view(torch.uint8) if tensor.numel() else tensor
