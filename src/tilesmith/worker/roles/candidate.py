"""The candidate child: the only process that runs a candidate's kernels.

It answers with outputs, never with judgments. Everything it says could be forged by the code it runs, so the
parent believes only what another process can confirm: values, and times that its own clock allows.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tilesmith.errors import MachineError
from tilesmith.process.channel import Channel
from tilesmith.process.descriptor import Descriptor
from tilesmith.process.protocol import candidate as protocol
from tilesmith.process.protocol.codec import Done
from tilesmith.process.protocol.tensors import ReleaseMemory, SharedMemory, TensorFile
from tilesmith.worker.candidate import input_placement
from tilesmith.worker.candidate.fault_verdicts import explain_fault
from tilesmith.worker.candidate.guarded_memory import GuardedMemory, scrub_free_memory
from tilesmith.worker.candidate.loading import construct, execute, forget_modules
from tilesmith.worker.candidate.replay_without_launches import replay
from tilesmith.worker.candidate.runner import BuiltModel, Runner
from tilesmith.worker.compat.torch_names import names_of_operators
from tilesmith.worker.engines.engine import CallSettings, observed
from tilesmith.worker.engines.gpu import GpuEngine, profile_call
from tilesmith.worker.fake_cuda.streams import unjoined
from tilesmith.worker.roles.request_loop import answer_requests
from tilesmith.worker.task.forward_arguments import ForwardArguments, call
from tilesmith.worker.task.torch_steps import MOST_STEPS, Step
from tilesmith.worker.tensors import exchange
from tilesmith.worker.tensors.gpu_memory import give_back_unused
from tilesmith.worker.tensors.tensor_file import BadTensorFile, write_tensors
from tilesmith.worker.tensors.trusted_pickle import read_trusted
from tilesmith.worker.timing.stopwatch import Stopwatch
from tilesmith.worker.timing.timed_candidate import TimedCandidate
from tilesmith.worker.timing.timing_inputs import TimingInputs
from tilesmith.worker.truth.model_state import state_of
from tilesmith.worker.truth.precision import set_precision
from tilesmith.worker.watch.cheating_detected import CheatingDetected
from tilesmith.worker.watch.global_switches import flipped, switches
from tilesmith.worker.watch.provenance import Provenance


def serve(channel: Channel) -> None:
    role = CandidateRole(channel)
    answer_requests(channel, role, lambda error: explain_fault(error, role.path))


class CandidateRole:
    """One kernel file in one process; each public method answers one request."""

    path = ""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._class: Any = None
        self._models: dict[str, BuiltModel] = {}
        self._inputs = input_placement.PlacedInputs()
        self._timed: TimedCandidate | None = None
        self._switches = switches()
        self._operators: set[str] = set()
        """That torch knew before the kernel was loaded."""
        self._sizes: dict[str, frozenset[int]] = {}
        """How many elements the outputs of each variant have, once that is known."""

    def warm_up(self, request: protocol.WarmUpGpu) -> Done:
        """The operators that surround a checked and a timed call: torch loads each on its first use."""
        some = ForwardArguments([torch.rand(8192, device="cuda")], {})
        guard, guarded = input_placement.PlacedInputs().lay_out(some, "nan", in_place=False)
        with guard:
            torch.empty(8, device="cuda")
        guard.damage()
        input_placement.fingerprints(guarded)
        scrub_free_memory()
        Stopwatch(TimingInputs(some, None)).time(lambda inputs: inputs.args[0].clone(), [0])
        return Done()

    def load(self, request: protocol.LoadKernel) -> Done:
        """Asked again, it loads the file anew, and nothing stays of what its code had made."""
        is_anew = bool(self.path)
        if is_anew:
            self._refuse_leftovers()
        else:
            self.path = request.path
            set_precision(request.precision)
            self._switches = switches()
            self._operators = set(names_of_operators())
            self._runner = Runner(request, self._channel)
        with self._runner.candidate_code():
            if is_anew:  # here, because what is let go may run code of its own
                self._models.clear()
                self._sizes.clear()
                self._runner.forget_launches()
                forget_modules()
            self._class = execute(request.path, request.text)
            gc.collect()  # triton keeps the old kernels until new ones take their names
        torch.cuda.empty_cache()
        return Done()

    def _refuse_leftovers(self) -> None:
        """Fails where this process may not be what it was, and where the GPU fails: torch may have broken it with
        results that no kernel had computed."""
        if (switch := flipped(self._switches, switches())) is not None:
            raise MachineError(f"{switch} was left switched: a fresh process is needed")
        if new := set(names_of_operators()) - self._operators:
            raise MachineError(f"torch keeps the operator {min(new)}: a fresh process is needed")
        if self._runner.device == "cuda" and torch.cuda.current_stream() != torch.cuda.default_stream():
            raise MachineError("a side stream was left current: a fresh process is needed")
        self._runner.engine.synchronize()

    def construct(self, request: protocol.ConstructModel) -> protocol.ModelConstructed:
        plan = read_trusted(request.construction)
        with self._runner.candidate_code():
            self._models.pop(request.variant, None)
            model, transfer = construct(self._class, plan, self._runner.device)
        self._models[request.variant] = BuiltModel(model, transfer, plan)
        stale = tuple(f"{copy} is a copy of {source}" for copy, source in transfer.stale.items())
        return protocol.ModelConstructed(stale)

    def compile_ahead(self, request: protocol.CompileAhead) -> Done:
        """Best effort: whatever fails here fails again, and is judged, in the first real run."""
        with self._runner.engine.muted():
            try:
                self._runner.forward(self._models[request.variant], self._read(request.inputs))
            except CheatingDetected:
                raise
            except Exception:
                pass
        return Done()

    def replay(self, request: protocol.ReplayWithoutLaunches) -> protocol.ReplayReport:
        return replay(self._runner, self._models[request.variant], self._read(request.inputs), request)

    def run(self, request: protocol.RunForward) -> protocol.ForwardReport:
        values, on_gpu = self._read(request.inputs), self._runner.device == "cuda"
        before = input_placement.fingerprints(values)
        guard, guarded = self._inputs.lay_out(values, request.pads if on_gpu else None, request.in_place)
        del values
        self._runner.forget_launches(
            CallSettings(request.schedule, request.choice, request.limit_s, request.longest_s)
        )
        made = _MadeByTorch()
        if request.torch_output is None:
            built = self._models[request.variant]
            outputs = self._runner.forward(
                built, guarded, guard, training=request.training, gradients=request.gradients
            )
        else:
            outputs, made = self._watched_forward(request.variant, guarded, guard, request.torch_output)
        tensors = exchange.tensors_in([outputs])
        self._sizes[request.variant] = frozenset(tensor.numel() for tensor in tensors)
        memory = exchange.write_outputs(request.output, outputs)
        return protocol.ForwardReport(
            launches=tuple(self._runner.engine.launched()),
            torch_steps=tuple(made.steps),
            changed_inputs=tuple(input_placement.changed(before, input_placement.fingerprints(guarded))),
            devices=tuple(sorted({str(t.device.type) for t in tensors})),
            damage=guard.damage(),
            unjoined=() if on_gpu else tuple(unjoined()),
            autotuned=self._runner.engine.autotuned,
            grids=tuple(sorted(self._runner.engine.grids)),
            memory=memory,
            torch_memory=made.memory,
            differentiable=any(tensor.requires_grad for tensor in tensors),
        )

    def _watched_forward(
        self, variant: str, inputs: ForwardArguments, guard: GuardedMemory, path: str
    ) -> tuple[Any, _MadeByTorch]:
        """Keeps what torch made without a kernel, for whoever knows the answer, and lists what it computed."""
        built = self._models[variant]
        weights = [tensor for name, tensor in state_of(built.model).items() if name in built.transfer.sources]
        known = [*exchange.tensors_in(inputs), *weights]
        provenance = Provenance(known, self._sizes.get(variant))
        if self._runner.device == "cuda":
            scrub_free_memory()
        guard.observer = provenance
        try:
            with observed(self._runner.engine, provenance):
                outputs = self._runner.forward(built, inputs, guard, provenance)
        finally:
            guard.observer = None
        memory = write_tensors(path, *provenance.resembling(exchange.flatten(outputs).tensors))
        return outputs, _MadeByTorch(provenance.steps[:MOST_STEPS], memory)

    def inspect(self, request: protocol.InspectKernels) -> protocol.KernelInspection:
        values, built = self._read(request.inputs), self._models[request.variant]
        self._runner.forget_launches()
        self._runner.forward(built, values)
        engine = self._runner.engine
        assert isinstance(engine, GpuEngine)
        names, resources = engine.kernel_names(), engine.resources(self._runner.target)
        with self._runner.candidate_code(), torch.no_grad():
            seen = profile_call(lambda: call(built.model, values), names)
        return protocol.KernelInspection(tuple(resources), seen.share, tuple(seen.unjoined))

    def prepare_timing(self, request: protocol.PrepareTiming) -> Done:
        self._inputs = input_placement.PlacedInputs()
        give_back_unused()
        second = self._read(request.second) if request.second else None
        values = TimingInputs(self._read(request.inputs), second)
        self._timed = TimedCandidate(self._runner, self._models[request.variant], values)
        return Done()

    def time(self, request: protocol.TimeCalls) -> protocol.TimedCalls:
        return self._timed_candidate().time(list(request.seeds), request.kept)

    def profile(self, request: protocol.ProfileCalls) -> protocol.ProfiledCalls:
        return self._timed_candidate().profile(request.seeds)

    def write_timed_output(self, request: protocol.WriteTimedOutput) -> SharedMemory:
        return SharedMemory(self._timed_candidate().write_kept(request.output))

    def run_many_calls(self, request: protocol.RunManyCalls) -> Done:
        self._timed_candidate().run_many_calls(request.seed, request.calls)
        return Done()

    def _timed_candidate(self) -> TimedCandidate:
        assert self._timed is not None, "timing is prepared first"
        return self._timed

    def release_memory(self, request: ReleaseMemory) -> Done:
        self._inputs = input_placement.PlacedInputs()
        self._timed = None
        with self._runner.candidate_code():
            gc.collect()
        torch.cuda.empty_cache()
        return Done()

    def _read(self, inputs: TensorFile) -> ForwardArguments:
        give_back_unused()
        try:
            values: ForwardArguments = exchange.read_inputs(inputs, self._runner.device)
            if inputs.memory is not None:
                inputs.memory.close()
            return values
        except BadTensorFile as error:
            cure = "set TILESMITH_SHARE_GPU_MEMORY=0 to send them through files"
            raise MachineError(f"the inputs did not reach the candidate ({error}): {cure}") from None


@dataclass(frozen=True)
class _MadeByTorch:
    """What torch did in a watched call beside the kernels."""

    steps: Sequence[Step] = ()
    memory: Descriptor | None = None
