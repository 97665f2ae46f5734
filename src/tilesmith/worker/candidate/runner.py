"""Runs a candidate's code: in its world, under a watch, with its launches recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from tilesmith.process.channel import Channel
from tilesmith.process.protocol.candidate import FirstCall, LoadKernel
from tilesmith.worker.candidate.launch_fingerprint import fingerprints_of
from tilesmith.worker.candidate.loading import adopt_sizes
from tilesmith.worker.compile import install_fake_driver
from tilesmith.worker.engines.gpu import LaunchLog
from tilesmith.worker.engines.interpreter import install as install_interpreter
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
from tilesmith.worker.fake_cuda.streams import begin_call
from tilesmith.worker.task import seed_everything
from tilesmith.worker.tensors import exchange
from tilesmith.worker.truth.model_state import Transfer, fill
from tilesmith.worker.watch.allowed_paths import AllowedPaths
from tilesmith.worker.watch.cheating_detected import CheatingDetected
from tilesmith.worker.watch.provenance import Provenance
from tilesmith.worker.watch.returned_values import unplain
from tilesmith.worker.watch.watch import Watch, report_and_exit


@dataclass(frozen=True)
class Built:
    """ModelNew for one shape of the task."""

    model: Any
    transfer: Transfer
    plan: dict[str, Any]


class Runner:
    """One kernel file on one device. Made before its code is loaded."""

    def __init__(self, kernel: LoadKernel, channel: Channel) -> None:
        self.device, self.target = kernel.device, kernel.target
        if self.device == "cuda":
            torch.cuda.init()
            self.launches: Any = LaunchLog()
        else:
            self.launches = install_interpreter()
            install_fake_driver(self.target)
        self._watch = Watch(
            AllowedPaths.around(kernel.path, kernel.task), lambda reason: report_and_exit(channel, reason)
        )

    @contextmanager
    def candidate_code(self) -> Iterator[None]:
        world: AbstractContextManager[Any] = pretend_cuda() if self.device == "cpu" else nullcontext()
        with world, self._watch.over_candidate_code():
            yield

    def forward(self, built: Built, inputs: list[Any], *modes: AbstractContextManager[Any]) -> Any:
        """One call from the given state under the given seed; its outputs as they were on return."""
        adopt_sizes(built.plan.get("sizes", {}))
        fill(built.model, built.transfer, built.plan["state"])
        seed_everything(built.plan["seed"])
        begin_call()
        with self.candidate_code(), ExitStack() as active, torch.no_grad():
            for mode in modes:
                active.enter_context(mode)
            outputs = as_returned(built.model(*inputs))
        if self.device == "cuda":
            torch.cuda.synchronize()
        return outputs

    @contextmanager
    def observing_launches(self, provenance: Provenance) -> Iterator[None]:
        hooks = ("before_launch", "after_launch", "after_replay")
        usual = {name: getattr(self.launches, name) for name in hooks}
        for name in hooks:
            setattr(self.launches, name, getattr(provenance, name))
        try:
            yield
        finally:
            for name, hook in usual.items():
                setattr(self.launches, name, hook)

    def forget_launches(self, schedule: int = 0, choice: int = 0, limit_s: float | None = None) -> None:
        """Before a call; the interpreter is told its order of programs, autotune config and patience."""
        self.launches.forget()
        if self.device == "cpu":
            self.launches.reschedule(schedule)
            self.launches.autotune_choice = choice
            self.launches.deadline = time.monotonic() + limit_s if limit_s else None

    def launched(self) -> list[str]:
        if self.device == "cuda":
            return list(self.launches.names)
        return [launch.kernel for launch in self.launches.launches]

    def first_call(self, complete: bool) -> FirstCall | None:
        """In the interpreter, with launches muted: what a call would have launched."""
        return None if self.device == "cuda" else FirstCall(fingerprints_of(self.launches.launches), complete)


def as_returned(outputs: Any) -> Any:
    """Copies made at once, behind what the caller's stream holds: what comes later comes too late."""
    refuse_lazy(outputs)
    with torch._C.DisableTorchFunction():
        return exchange.map_tensors(outputs, torch.clone)


def refuse_lazy(outputs: Any) -> None:
    lazy = unplain(outputs)
    if lazy is not None:
        raise CheatingDetected(
            f"forward returned a {lazy}, which may compute its values later; return plain tensors"
        )
