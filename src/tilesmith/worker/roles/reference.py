"""The reference child: it loads the user's task, makes inputs, knows the truth, compares and times baselines.

It never loads a candidate. It lives for as long as one task is being judged, so truth, CUDA graphs and
`torch.compile` are paid for once.
"""

from __future__ import annotations

import gc
import os
from contextlib import ExitStack
from dataclasses import replace

import torch

from tilesmith.process.channel import Channel
from tilesmith.process.protocol import interface as interface_protocol
from tilesmith.process.protocol import reference as protocol
from tilesmith.process.protocol.codec import Done
from tilesmith.process.protocol.comparison import Comparison
from tilesmith.process.protocol.tensors import ReleaseMemory, SharedMemory, TensorFile
from tilesmith.records import to_json
from tilesmith.tasks.graph import graph_to_json
from tilesmith.tasks.roofline import TaskProfile
from tilesmith.worker.roles.environment import describe_environment
from tilesmith.worker.roles.request_loop import answer_requests, explain_own_failure
from tilesmith.worker.task import (
    choose_aligned,
    choose_shrunk,
    describe,
    load_task,
    long_shapes,
    odd_shapes,
    resized,
    steps_on_fakes,
    trace_varying,
)
from tilesmith.worker.task.argument_types import argument_types
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.loading import importable
from tilesmith.worker.task.torch_steps import Step, covers
from tilesmith.worker.task.traced.parts import trace_parts
from tilesmith.worker.tensors import exchange
from tilesmith.worker.tensors.gpu_memory import give_back_unused
from tilesmith.worker.tensors.tensor_file import BadTensorFile
from tilesmith.worker.tensors.trusted_pickle import write_trusted
from tilesmith.worker.timing.baselines import Baselines, timing_inputs
from tilesmith.worker.timing.digests import digest_of
from tilesmith.worker.truth.answer_comparison import compare_with_answer
from tilesmith.worker.truth.copied_answers import find_copied_draw
from tilesmith.worker.truth.error_statistics import same_to_rounding
from tilesmith.worker.truth.interface_probes import interface_of, probes_of
from tilesmith.worker.truth.known_cheats import cheats_for, try_cheats
from tilesmith.worker.truth.minimum_traffic import necessary_bytes
from tilesmith.worker.truth.precision import set_precision
from tilesmith.worker.truth.torch_share import measure_torch_share
from tilesmith.worker.truth.variant import Variant, input_shapes, shapes_of


def serve(channel: Channel) -> None:
    answer_requests(channel, ReferenceRole(), explain_own_failure)


class ReferenceRole:
    """One task on one device; each public method answers one request."""

    def open(self, request: protocol.OpenTask) -> protocol.Environment:
        """Load the task as if it were run where the user stands: neighbors and data files are found."""
        os.chdir(request.folder)
        torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
        set_precision(request.precision)
        self._task = request
        self._texts = {"exact": request.task.text}
        self._variants: dict[str, Variant] = {}
        self._baselines: Baselines | None = None
        self._exact_steps: list[Step] | None = None
        self._necessary_bytes: int | None = None
        self._strong_parameters = False
        self._import_path = ExitStack()
        self._import_path.enter_context(importable(request.task))  # functions may import when they are called
        self._loaded = load_task(request.task)
        return describe_environment(request.device)

    def find_argument_types(self, request: protocol.FindArgumentTypes) -> protocol.ArgumentTypes:
        return argument_types(self._loaded, input_shapes(self._loaded))

    def find_task_form(self, request: protocol.FindTaskForm) -> protocol.TaskForm:
        settled = self._variant("shrunk")
        is_function = not isinstance(self._loaded.constructor, type)
        return protocol.TaskForm(is_function, settled.training, settled.fell_back)

    def describe(self, request: protocol.DescribeTask) -> TaskProfile:
        return describe(self._loaded)

    def trace(self, request: protocol.TraceTask) -> protocol.TracedGraph:
        training = self._variant("shrunk").training
        others = [text for name, text in self._texts.items() if name.startswith(("shrunk", "odd"))]
        traced = trace_varying(self._loaded, others, training)
        if traced.graph is not None:
            return protocol.TracedGraph(graph_to_json(traced.graph), None)
        parts = trace_parts(self._loaded, training)
        return protocol.TracedGraph(None, traced.reason, [to_json(part) for part in parts])

    def make_variants(self, request: protocol.MakeVariants) -> protocol.Variants:
        plans: dict[str, str] = {}
        small = choose_shrunk(self._loaded.source)
        self._texts["shrunk"], plans["shrunk"] = small.text, small.plan
        self._small_elements = small.elements
        for position, ragged in enumerate(odd_shapes(self._loaded.source, small, request.odd), 1):
            self._texts[f"odd {position}"], plans[f"odd {position}"] = ragged.text, ragged.plan
        if self._task.device == "cpu" and small.plan != "as is":
            for position, long in enumerate(long_shapes(self._loaded.source, small), 1):
                self._texts[f"long {position}"], plans[f"long {position}"] = long.text, long.plan
        shown = ("exact", "shrunk") if self._task.device == "cpu" else ()
        shapes = {name: shapes_of(load_task(self._task.task, self._texts[name])) for name in shown}
        return protocol.Variants(plans, shapes)

    def align(self, request: protocol.AlignShape) -> protocol.AlignedShape:
        choice = choose_aligned(self._loaded.source)
        if choice is None or choice.elements <= self._small_elements:
            return protocol.AlignedShape(None)  # a smaller shape than the one that failed would hide what failed
        self._texts["aligned"] = choice.text
        return protocol.AlignedShape(choice.plan)

    def write_construction(self, request: protocol.WriteConstruction) -> Done:
        chosen = self._variant(request.variant)
        # Small and aligned shapes stand for the exact one; on other shapes a kernel must do without its copies.
        stands_for_exact = request.variant.startswith(("shrunk", "aligned", "long"))
        sizes = resized(self._loaded, chosen.loaded) if stands_for_exact else {}
        write_trusted(request.path, chosen.construction() | {"sizes": sizes})
        return Done()

    def write_blueprint(self, request: protocol.WriteBlueprint) -> protocol.FileWritten:
        """The exact shapes as meta tensors, without allocating them."""
        inputs = input_shapes(self._loaded)
        if inputs is None:
            return protocol.FileWritten(False)
        plan = {"seed": self._task.seed, "args": self._loaded.init_args, "kwargs": self._loaded.init_kwargs}
        write_trusted(request.path, plan | {"inputs": inputs})
        return protocol.FileWritten(True)

    def write_inputs(self, request: protocol.WriteInputs) -> protocol.InputsWritten:
        give_back_unused()
        chosen = self._variant(request.variant)
        if not chosen.is_usable(request.draw):
            return protocol.InputsWritten(usable=False, shared=False)
        made = chosen.inputs(request.draw)
        digests = tuple(map(digest_of, exchange.tensors_in(made))) if request.draw == "own" else ()
        memory = exchange.write_inputs(request.path, made, request.may_share)
        return protocol.InputsWritten(usable=True, shared=memory is not None, memory=memory, digests=digests)

    def share_inputs(self, request: protocol.ShareInputs) -> SharedMemory:
        """A copy for each who asks: a candidate could write into it."""
        give_back_unused()
        return SharedMemory(exchange.share_inputs(self._variant(request.variant).inputs(request.draw)))

    def compare_outputs(self, request: protocol.CompareOutputs) -> Comparison:
        chosen = self._variant(request.variant)
        outputs, answer = self._take_outputs(request.outputs), chosen.answer(request.draw)
        compared = compare_with_answer(chosen, answer, outputs)
        return replace(compared, copied_from=find_copied_draw(chosen, request.draw, answer, outputs))

    def compare_timed_outputs(self, request: protocol.CompareTimedOutputs) -> Comparison:
        chosen, outputs = self._variant("exact"), self._take_outputs(request.outputs)
        return compare_with_answer(chosen, chosen.answer_on(self._timed_inputs(request)), outputs)

    def _timed_inputs(self, request: protocol.CompareTimedOutputs) -> ForwardArguments:
        """Those of the baselines, where they are still there: others would lie beside them."""
        held = self._baselines
        if held is not None and held.single_draw == request.single_draw:
            return held.inputs.under(request.seed)
        return timing_inputs(self._variant("exact"), request.single_draw).under(request.seed)

    def compare_runs(self, request: protocol.CompareRuns) -> protocol.Agreement:
        runs = [exchange.read_outputs(one, self._task.device) for one in (request.first, request.second)]
        return protocol.Agreement(same_to_rounding(*runs))

    def list_probes(self, request: interface_protocol.ListProbes) -> interface_protocol.Probes:
        chosen = self._variant(request.variant)
        probes = probes_of(chosen)
        chosen.changed_calls.update({probe.description.draw: probe.call for probe in probes})
        return interface_protocol.Probes(tuple(probe.description for probe in probes))

    def describe_interface(
        self, request: interface_protocol.DescribeInterface
    ) -> interface_protocol.VerifiedInterface:
        other = None if request.other is None else self._variant(request.other).loaded
        return interface_protocol.VerifiedInterface(interface_of(self._variant("shrunk"), self._loaded, other))

    def measure_torch_share(self, request: protocol.MeasureTorchShare) -> protocol.TorchShare:
        held = self._take_outputs(request.made)
        positions = held.layout if isinstance(held.layout, list) else []
        if len(positions) != len(held.tensors) or not all(type(one) is int for one in positions):
            raise BadTensorFile("the positions do not fit the tensors")
        chosen = self._variant(request.variant)
        share = measure_torch_share(chosen, request.draw, held.tensors, positions)
        return protocol.TorchShare(share, _coverage(request.steps, chosen.steps()))

    def check_exact_steps(self, request: protocol.CheckExactSteps) -> protocol.StepCoverage:
        """The exact task is gone through without its memory, once."""
        if self._exact_steps is None:
            mode = "train" if self._variant("shrunk").training else "eval"
            self._exact_steps = steps_on_fakes(replace(self._task.task, mode=mode))
        return _coverage(request.steps, self._exact_steps)

    def move_parameters(self, request: protocol.MoveParameters) -> Done:
        self._strong_parameters = request.strongly
        self._variants.clear()
        self._baselines = None
        return Done()

    def list_cheats(self, request: protocol.ListCheats) -> protocol.CheatKinds:
        cheats = cheats_for(self._variant(request.variant))
        return protocol.CheatKinds({cheat.name: cheat.kind for cheat in cheats})

    def try_cheats(self, request: protocol.TryCheats) -> protocol.CheatResults:
        return protocol.CheatResults(try_cheats(self._variant(request.variant), request.draw, request.names))

    def measure_minimum_traffic(self, request: protocol.MeasureMinimumTraffic) -> protocol.MinimumTraffic:
        if self._necessary_bytes is None:
            try:
                self._necessary_bytes = necessary_bytes(self._variant("exact"))
            except torch.OutOfMemoryError:
                return protocol.MinimumTraffic(0)  # nobody is accused this time; the next may have the memory
        return protocol.MinimumTraffic(self._necessary_bytes)

    def measure_free_memory(self, request: protocol.MeasureFreeMemory) -> protocol.FreeMemory:
        torch.cuda.empty_cache()
        return protocol.FreeMemory(torch.cuda.mem_get_info()[0])

    def release_memory(self, request: ReleaseMemory) -> Done:
        for variant in self._variants.values():
            variant.release()
        self._baselines = None
        if self._task.device == "cuda":
            gc.collect()  # baselines hold themselves
            torch.cuda.empty_cache()
        return Done()

    def build_baseline(self, request: protocol.BuildBaseline) -> protocol.BaselineBuilt:
        return protocol.BaselineBuilt(self._timed(request.single_draw).build(request.kind))

    def time_baseline(self, request: protocol.TimeBaseline) -> protocol.TimedBaseline:
        turn = self._timed(request.single_draw).time(request.kind, list(request.seeds))
        return protocol.TimedBaseline(tuple(turn.samples), tuple(turn.digests))

    def run_many_baseline_calls(self, request: protocol.RunManyBaselineCalls) -> Done:
        self._timed(request.single_draw).run_many_calls(request.kind, request.seed, request.calls)
        return Done()

    def _timed(self, single_draw: bool) -> Baselines:
        if self._baselines is None or self._baselines.single_draw != single_draw:
            self._baselines = None
            give_back_unused()
            self._baselines = Baselines(self._variant("exact"), single_draw)
        return self._baselines

    def _variant(self, name: str) -> Variant:
        if name not in self._variants:
            task = self._task
            loaded = self._loaded if name == "exact" else load_task(task.task, self._texts[name])
            self._variants[name] = Variant(loaded, task.device, task.precision, task.seed, self._strong_parameters)
        return self._variants[name]

    def _take_outputs(self, source: TensorFile) -> exchange.FlatOutputs:
        """What a candidate wrote; nobody needs the file after this."""
        give_back_unused()
        outputs = exchange.read_outputs(source, self._task.device)
        if source.memory is not None:
            source.memory.close()
        os.unlink(source.path)
        return outputs


def _coverage(steps: tuple[protocol.TorchStep, ...], task: list[Step]) -> protocol.StepCoverage:
    return protocol.StepCoverage(covers(list(steps), task), tuple(sorted({kind for kind, _ in task})))
