"""The compiler child: without a GPU it records a candidate's launches and compiles each for the target.

Nothing is executed here, so outputs are meaningless; what counts is which kernels would be launched and
whether the real compiler takes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from tilesmith.process.channel import Channel
from tilesmith.process.protocol import candidate as protocol
from tilesmith.process.protocol.codec import Done
from tilesmith.records import KernelResources
from tilesmith.worker.candidate.fault_verdicts import explain_fault
from tilesmith.worker.candidate.guarded_memory import GuardedMemory
from tilesmith.worker.candidate.launch_fingerprint import fingerprints_of
from tilesmith.worker.candidate.loading import construct, execute
from tilesmith.worker.compile import CompileFailure, RecordedLaunch, compile_launch, distinct
from tilesmith.worker.engines.recorder import recording
from tilesmith.worker.fake_cuda.graphs import captures
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
from tilesmith.worker.roles.request_loop import answer_requests
from tilesmith.worker.task import seed_everything
from tilesmith.worker.task.argument_types import prepare_for
from tilesmith.worker.task.fake_tensors import fake_tensors
from tilesmith.worker.task.forward_arguments import call
from tilesmith.worker.task.torch_steps import MOST_STEPS, TorchStepLog
from tilesmith.worker.tensors import exchange
from tilesmith.worker.tensors.trusted_pickle import read_trusted
from tilesmith.worker.watch.allowed_paths import AllowedPaths
from tilesmith.worker.watch.cheating_detected import CheatingDetected
from tilesmith.worker.watch.forked_copy import run_in_fork
from tilesmith.worker.watch.watch import Watch, report_and_exit

_MOST_KERNELS = 24
_NOT_LINKED = "not linked with support for cuda"


def serve(channel: Channel) -> None:
    role = CompilerRole(channel)
    answer_requests(channel, role, lambda error: explain_fault(error, role.path))


class CompilerRole:
    """One kernel file that is never executed; each public method answers one request."""

    path = ""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def load(self, request: protocol.LoadKernel) -> Done:
        self.path, self._target = request.path, request.target
        self._launches: list[RecordedLaunch] = []
        if request.task is not None:
            prepare_for(request.task, request.types)
        paths = AllowedPaths.around(request.path, request.task.path if request.task else None)
        self._watch = Watch(paths, lambda detected: report_and_exit(self._channel, detected))
        with recording(target=self._target), pretend_cuda(), self._watch.over_candidate_code():
            self._class = execute(request.path, request.text)
        return Done()

    def record_first_call(self, request: protocol.RecordFirstCall) -> protocol.FirstCallReport:
        """In a copy, so that the next call is the first again.

        Fresh memory is full of `fill`, and nothing else is known of what kernels would have written.
        """
        seen = run_in_fork(protocol.FirstCallReport, lambda: self._first_call(request))
        return seen or protocol.FirstCallReport(None)

    def _first_call(self, request: protocol.RecordFirstCall) -> protocol.FirstCallReport:
        plan = read_trusted(request.construction)
        inputs = exchange.read_inputs(request.inputs, "cpu")
        launches: list[RecordedLaunch] = []
        complete, earlier = False, captures()
        try:
            with self._recording(all_configs=False) as launches:
                model, _ = construct(self._class, plan, "cpu")
                seed_everything(plan["seed"])
                launches.clear()
                with GuardedMemory(None, request.fill):
                    call(model, inputs)
            complete = True
        except CheatingDetected:
            raise
        except Exception:  # without results of its kernels it may well fail
            pass
        comparable = captures() == earlier  # what a graph holds is recorded once here, and at each replay there
        first = protocol.FirstCall(fingerprints_of(launches), complete)
        return protocol.FirstCallReport(first if comparable else None)

    def record_exact_launches(self, request: protocol.RecordExactLaunches) -> protocol.LaunchRecord:
        """No memory, no arithmetic. On the fake GPU first; a PyTorch without CUDA refuses much of that (`.to`,
        indexing), so then on the CPU."""
        plan = read_trusted(request.blueprint)
        try:
            return self._record_on("cuda", plan)
        except RuntimeError as error:
            if _NOT_LINKED not in str(error):
                raise
            return self._record_on("cpu", plan)

    def _record_on(self, device: str, plan: dict[str, Any]) -> protocol.LaunchRecord:
        def fake(tensor: torch.Tensor) -> torch.Tensor:
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)

        with self._recording(translate=device == "cpu") as launches, fake_tensors(), TorchStepLog() as steps:
            model = self._class(*plan["args"], **plan["kwargs"])
            model = model.to(device) if device != "cpu" else model
            inputs = exchange.map_tensors(plan["inputs"], fake)
            steps.taken.clear()
            call(model, inputs)
        return replace(self._keep(launches), torch_steps=tuple(steps.taken[:MOST_STEPS]))

    def record_launches(self, request: protocol.RecordLaunches) -> protocol.LaunchRecord:
        plan = read_trusted(request.construction)
        inputs = exchange.read_inputs(request.inputs, "cpu")
        with self._recording() as launches:
            model, _ = construct(self._class, plan, "cpu")
            call(model, inputs)
        return self._keep(launches)

    @contextmanager
    def _recording(self, translate: bool = True, all_configs: bool = True) -> Iterator[list[RecordedLaunch]]:
        record = recording(target=self._target, all_configs=all_configs)
        world = pretend_cuda(translate=translate)
        with record as launches, world, torch.no_grad(), self._watch.over_candidate_code():
            yield launches

    def _keep(self, launches: list[RecordedLaunch]) -> protocol.LaunchRecord:
        self._launches = list(launches)
        real = _without_rival_configs(self._launches)
        programs = sum(math.prod(launch.grid) for launch in real)
        return protocol.LaunchRecord(tuple(launch.kernel for launch in real), programs)

    def compile_launches(self, request: protocol.CompileLaunches) -> protocol.CompiledKernels:
        """An autotuner skips configs that fail; one must remain."""
        kernels = distinct(self._launches)[: None if request.to_the_last else _MOST_KERNELS]
        resources: list[KernelResources] = []
        refused: dict[int, CompileFailure] = {}
        passed_over: list[str] = []
        surviving: set[int | None] = set()
        for launch in kernels:
            try:
                resources.append(compile_launch(launch, self._target))
                surviving.add(launch.autotuned_call)
            except CompileFailure as failure:
                if request.goes_on:
                    passed_over.append(launch.kernel)
                    continue
                if launch.autotuned_call is None:
                    raise
                refused[launch.autotuned_call] = failure
        for autotuned, refusal in refused.items():
            if autotuned not in surviving:
                raise refusal
        return protocol.CompiledKernels(tuple(resources), tuple(passed_over))


def _without_rival_configs(launches: list[RecordedLaunch]) -> list[RecordedLaunch]:
    """An autotuned call was recorded once per config but launches one."""
    seen: set[int] = set()
    kept = []
    for launch in launches:
        if launch.autotuned_call is None or launch.autotuned_call not in seen:
            kept.append(launch)
        if launch.autotuned_call is not None:
            seen.add(launch.autotuned_call)
    return kept
