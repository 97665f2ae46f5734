"""The compiler child: without a GPU it records a candidate's launches and compiles each for the target.

Nothing is executed here, so outputs are meaningless; what counts is which kernels would be launched and
whether the real compiler takes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import torch

from tilesmith.process.channel import Channel
from tilesmith.worker.candidate.faults import explain_fault
from tilesmith.worker.candidate.guarded_memory import GuardedMemory
from tilesmith.worker.candidate.launch_fingerprint import first_call
from tilesmith.worker.candidate.loading import construct, execute
from tilesmith.worker.compile import CompileFailure, RecordedLaunch, compile_launch, distinct
from tilesmith.worker.engines.recorder import recording
from tilesmith.worker.fake_cuda.graphs import captures
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
from tilesmith.worker.roles.request_loop import Operation, answer_requests
from tilesmith.worker.task import seed_everything
from tilesmith.worker.task.fake_tensors import fake_tensors
from tilesmith.worker.task.torch_steps import MOST_STEPS, Steps
from tilesmith.worker.tensors import exchange
from tilesmith.worker.watch.allowed_paths import AllowedPaths
from tilesmith.worker.watch.cheating_detected import CheatingDetected
from tilesmith.worker.watch.forked_copy import in_a_fork
from tilesmith.worker.watch.watch import Watch, report_and_exit

_MOST_KERNELS = 24
_NOT_LINKED = "not linked with support for cuda"


def serve(channel: Channel) -> None:
    compiler = Compiler(channel)
    operations: dict[str, Operation] = {
        "load": compiler.load,
        "first_call": compiler.first_call,
        "record_exact": compiler.record_exact,
        "record": compiler.record,
        "compile": compiler.compile,
    }
    answer_requests(channel, operations, lambda error: explain_fault(error, compiler.path))


class Compiler:
    path = ""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def load(self, path: str, text: str, device: str, target: str, precision: str, task: str) -> dict[str, Any]:
        self.path, self._target = path, target
        self._launches: list[RecordedLaunch] = []
        self._watch = Watch(AllowedPaths.around(path, task), lambda reason: report_and_exit(self._channel, reason))
        with recording(target=target), pretend_cuda(), self._watch.over_candidate_code():
            self._class = execute(path, text)
        return {}

    def first_call(self, construction: str, inputs: str, fill: float) -> dict[str, Any]:
        """What the first of all calls would launch; in a copy, so that the next call is the first again.

        Fresh memory is full of `fill`, and nothing else is known of what kernels would have written.
        """
        heard = in_a_fork(lambda: self._first_call(construction, inputs, fill))
        if "caught" in heard:
            raise CheatingDetected(heard["caught"])
        return {"first_call": heard.get("first_call")}

    def _first_call(self, construction: str, inputs: str, fill: float) -> dict[str, Any]:
        plan = exchange.read_trusted(construction)
        given = exchange.read_inputs(inputs, "cpu")
        launches: list[RecordedLaunch] = []
        complete, earlier = False, captures()
        try:
            with self._recording(all_configs=False) as launches:
                model, _ = construct(self._class, plan, "cpu")
                seed_everything(plan["seed"])
                launches.clear()
                with GuardedMemory(None, fill):
                    model(*given)
            complete = True
        except CheatingDetected as caught:
            return {"caught": str(caught)}
        except Exception:  # without results of its kernels it may well fail
            pass
        comparable = captures() == earlier  # what a graph holds is recorded once here, and at each replay there
        return {"first_call": first_call(launches, complete) if comparable else None}

    def record_exact(self, blueprint: str) -> dict[str, Any]:
        """One forward at the task's exact shape on fake tensors: no memory, no arithmetic.

        On the fake GPU first; a PyTorch without CUDA refuses much of that (`.to`, indexing), so then on the CPU.
        """
        plan = exchange.read_trusted(blueprint)
        try:
            return self._recorded_on("cuda", plan)
        except RuntimeError as error:
            if _NOT_LINKED not in str(error):
                raise
            return self._recorded_on("cpu", plan)

    def _recorded_on(self, device: str, plan: dict[str, Any]) -> dict[str, Any]:
        def fake(tensor: torch.Tensor) -> torch.Tensor:
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)

        with self._recording(translate=device == "cpu") as launches, fake_tensors(), Steps() as steps:
            model = self._class(*plan["args"], **plan["kwargs"])
            model = model.to(device) if device != "cpu" else model
            inputs = [exchange.map_tensors(value, fake) for value in plan["inputs"]]
            steps.taken.clear()
            model(*inputs)
        return self._keep(launches) | {"torchs_steps": steps.taken[:MOST_STEPS]}

    def record(self, construction: str, inputs: str) -> dict[str, Any]:
        """One forward on real tensors of a small shape, for host code that looks at values."""
        plan = exchange.read_trusted(construction)
        given = exchange.read_inputs(inputs, "cpu")
        with self._recording() as launches:
            model, _ = construct(self._class, plan, "cpu")
            model(*given)
        return self._keep(launches)

    @contextmanager
    def _recording(self, translate: bool = True, all_configs: bool = True) -> Iterator[list[RecordedLaunch]]:
        record = recording(target=self._target, all_configs=all_configs)
        world = pretend_cuda(translate=translate)
        with record as launches, world, torch.no_grad(), self._watch.over_candidate_code():
            yield launches

    def _keep(self, launches: list[RecordedLaunch]) -> dict[str, Any]:
        self._launches = list(launches)
        real = _without_rival_configs(self._launches)
        programs = sum(math.prod(launch.grid) for launch in real)
        return {"launches": [launch.kernel for launch in real], "programs": programs}

    def compile(self) -> dict[str, Any]:
        """Every distinct kernel for the target. An autotuner skips configs that fail; one must remain."""
        kernels = distinct(self._launches)[:_MOST_KERNELS]
        resources: list[dict[str, Any]] = []
        refused: dict[int, CompileFailure] = {}
        surviving: set[int | None] = set()
        for launch in kernels:
            try:
                resources.append(asdict(compile_launch(launch, self._target)))
                surviving.add(launch.autotuned_call)
            except CompileFailure as failure:
                if launch.autotuned_call is None:
                    raise
                refused[launch.autotuned_call] = failure
        for call, refusal in refused.items():
            if call not in surviving:
                raise refusal
        return {"resources": resources}


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
