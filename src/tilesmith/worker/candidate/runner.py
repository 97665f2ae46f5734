"""Runs a candidate's code: in its world, under a watch, with its launches recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from tilesmith.process.channel import Channel
from tilesmith.process.protocol.candidate import FirstCall, LoadKernel
from tilesmith.worker.candidate.launch_fingerprint import fingerprints_of
from tilesmith.worker.candidate.loading import adopt_sizes
from tilesmith.worker.compat.torch_names import DisableTorchFunction
from tilesmith.worker.compile import install_fake_driver
from tilesmith.worker.engines.engine import CallSettings, LaunchEngine
from tilesmith.worker.engines.gpu import GpuEngine
from tilesmith.worker.engines.interpreter import install as install_interpreter
from tilesmith.worker.fake_cuda.streams import begin_call
from tilesmith.worker.task import seed_everything
from tilesmith.worker.task.argument_types import prepare_for
from tilesmith.worker.task.forward_arguments import ForwardArguments, call
from tilesmith.worker.tensors import exchange
from tilesmith.worker.truth.model_state import Transfer, fill
from tilesmith.worker.watch.allowed_paths import AllowedPaths
from tilesmith.worker.watch.cheating_detected import CheatingDetected
from tilesmith.worker.watch.returned_values import find_lazy_type
from tilesmith.worker.watch.watch import Watch, report_and_exit


@dataclass(frozen=True)
class BuiltModel:
    """ModelNew for one shape of the task."""

    model: Any
    transfer: Transfer
    plan: dict[str, Any]


class Runner:
    """One kernel file on one device. Made before its code is loaded."""

    def __init__(self, kernel: LoadKernel, channel: Channel) -> None:
        self.device, self.target = kernel.device, kernel.target
        if kernel.task is not None:
            prepare_for(kernel.task, kernel.types)
        self.engine: LaunchEngine = GpuEngine() if self.device == "cuda" else _interpreter(self.target)
        paths = AllowedPaths.around(kernel.path, kernel.task.path if kernel.task else None)
        self._watch = Watch(paths, lambda detected: report_and_exit(channel, detected))

    @contextmanager
    def candidate_code(self, inspects: bool = True) -> Iterator[None]:
        with self.engine.simulated_gpu(), self._watch.over_candidate_code(inspects):
            yield

    def forward(
        self,
        built: BuiltModel,
        inputs: ForwardArguments,
        *modes: AbstractContextManager[Any],
        training: bool | None = None,
        gradients: bool = False,
    ) -> Any:
        """One call from the given state under the given seed; its outputs as they were on return.

        Another mode of the module and gradients are for calls beside the task's own.
        """
        adopt_sizes(built.plan.get("sizes", {}))
        fill(built.model, built.transfer, built.plan["state"])
        seed_everything(built.plan["seed"])
        begin_call()
        built.model.train(built.plan["training"] if training is None else training)
        with self.candidate_code(), ExitStack() as active, torch.set_grad_enabled(gradients):
            for tensor in exchange.tensors_in(inputs) if gradients else ():
                tensor.requires_grad_(tensor.is_floating_point())
            for mode in modes:
                active.enter_context(mode)
            outputs = as_returned(call(built.model, inputs))
        self.engine.synchronize()
        return outputs

    def forget_launches(self, settings: CallSettings | None = None) -> None:
        """Before a call; the interpreter is told its order of programs, autotune config and patience."""
        self.engine.begin_call(settings or CallSettings())

    def first_call(self, complete: bool) -> FirstCall | None:
        """With launches muted: what a call would have launched, where the engine knows."""
        launches = self.engine.described_launches()
        return None if launches is None else FirstCall(fingerprints_of(launches), complete)


def _interpreter(target: str) -> LaunchEngine:
    engine = install_interpreter()
    install_fake_driver(target)
    return engine


def as_returned(outputs: Any) -> Any:
    """Copies made at once, behind what the caller's stream holds: what comes later comes too late."""
    refuse_lazy(outputs)
    with DisableTorchFunction():
        return exchange.map_tensors(outputs, torch.clone)


def refuse_lazy(outputs: Any) -> None:
    lazy = find_lazy_type(outputs)
    if lazy is not None:
        raise CheatingDetected(
            f"forward returned a {lazy}, which may compute its values later; return plain tensors"
        )
