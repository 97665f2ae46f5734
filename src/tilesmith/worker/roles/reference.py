"""The reference child: it loads the user's task, makes inputs, knows the truth, compares and times baselines.

It never loads a candidate. It lives for as long as one task is being judged, so truth, CUDA graphs and
`torch.compile` are paid for once.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import torch

from tilesmith.process.channel import Channel
from tilesmith.tasks.graph import graph_to_json
from tilesmith.worker.roles.environment import describe_environment
from tilesmith.worker.roles.request_loop import Operation, answer_requests, explain_own_failure
from tilesmith.worker.task import (
    choose_aligned,
    choose_shrunk,
    describe,
    load_task,
    long_shapes,
    odd_shapes,
    resized,
    steps_on_fakes,
    trace,
)
from tilesmith.worker.task.torch_steps import Step, covers
from tilesmith.worker.tensors import exchange
from tilesmith.worker.tensors.tensor_file import BadTensorFile
from tilesmith.worker.timing.baselines import Baselines
from tilesmith.worker.timing.timing_inputs import TimingInputs
from tilesmith.worker.truth.comparison import same_to_rounding
from tilesmith.worker.truth.copied_answers import remembered, torchs_share
from tilesmith.worker.truth.known_cheats import cheats_for, try_cheats
from tilesmith.worker.truth.measurement import measured
from tilesmith.worker.truth.minimum_traffic import necessary_bytes
from tilesmith.worker.truth.precision import set_precision
from tilesmith.worker.truth.variant import Variant, input_shapes, shapes_of


def serve(channel: Channel) -> None:
    reference = Reference()
    operations: dict[str, Operation] = {
        "open": reference.open,
        "describe": reference.describe,
        "trace": reference.trace,
        "variants": reference.variants,
        "align": reference.align,
        "construct": reference.construct,
        "blueprint": reference.blueprint,
        "draw": reference.draw,
        "compare": reference.compare,
        "compare_timed": reference.compare_timed,
        "torchs_share": reference.torchs_share,
        "torchs_exact_steps": reference.torchs_exact_steps,
        "move_parameters": reference.move_parameters,
        "cheats": reference.cheats,
        "try_cheats": reference.try_cheats,
        "agree": reference.agree,
        "floor": reference.floor,
        "release": reference.release,
        "baseline": reference.baseline,
        "time": reference.time,
        "idle": reference.idle,
    }
    answer_requests(channel, operations, explain_own_failure)


class Reference:
    """One task on one device; each public method answers one request with plain data."""

    def open(self, path: str, text: str, device: str, precision: str, seed: int, folder: str) -> dict[str, Any]:
        """Load the task as if it were run where the user stands: neighbors and data files are found."""
        os.chdir(folder)
        torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
        set_precision(precision)
        self._path, self._text = path, text
        self._device, self._precision, self._seed = device, precision, seed
        self._texts = {"exact": text}
        self._variants: dict[str, Variant] = {}
        self._baselines: Baselines | None = None
        self._strong_parameters = False
        self._loaded = load_task(path, text)
        return {"environment": describe_environment(device)}

    def describe(self) -> dict[str, Any]:
        return asdict(describe(self._loaded))

    def trace(self) -> dict[str, Any]:
        """The operators of the forward pass, or the reason why they cannot be listed."""
        traced = trace(self._loaded)
        return {"graph": graph_to_json(traced.graph) if traced.graph else None, "reason": traced.reason}

    def variants(self, odd: int) -> dict[str, Any]:
        """Add small and ragged shapes of the task; says what each one is."""
        plans: dict[str, str] = {}
        small = choose_shrunk(self._loaded.source)
        self._texts["shrunk"], plans["shrunk"] = small.text, small.plan
        self._small_elements = small.elements
        for position, ragged in enumerate(odd_shapes(self._loaded.source, small, odd), 1):
            self._texts[f"odd {position}"], plans[f"odd {position}"] = ragged.text, ragged.plan
        if self._device == "cpu" and small.plan != "as is":
            for position, long in enumerate(long_shapes(self._loaded.source, small), 1):
                self._texts[f"long {position}"], plans[f"long {position}"] = long.text, long.plan
        shown = ("exact", "shrunk") if self._device == "cpu" else ()
        shapes = {name: shapes_of(load_task(self._path, self._texts[name])) for name in shown}
        return {"plans": plans, "shapes": shapes}

    def align(self) -> dict[str, Any]:
        """Add a shape that divides as the task's own does; null where there is none."""
        choice = choose_aligned(self._loaded.source)
        if choice is None or choice.elements <= self._small_elements:
            return {"plan": None}  # a smaller shape than the one that failed would hide what failed
        self._texts["aligned"] = choice.text
        return {"plan": choice.plan}

    def construct(self, variant: str, path: str) -> dict[str, Any]:
        chosen = self._variant(variant)
        # Small and aligned shapes stand for the exact one; on other shapes a kernel must do without its copies.
        sizes = resized(self._loaded, chosen.loaded) if variant.startswith(("shrunk", "aligned", "long")) else {}
        exchange.write_trusted(path, chosen.construction() | {"sizes": sizes})
        return {}

    def blueprint(self, path: str) -> dict[str, Any]:
        """The exact shapes as meta tensors, without allocating them."""
        inputs = input_shapes(self._loaded)
        if inputs is None:
            return {"usable": False}
        plan = {"seed": self._seed, "args": self._loaded.init_args, "kwargs": self._loaded.init_kwargs}
        exchange.write_trusted(path, plan | {"inputs": inputs})
        return {"usable": True}

    def draw(self, variant: str, draw: str, path: str) -> dict[str, Any]:
        """Write the inputs of one draw, unless the reference itself cannot take them."""
        chosen = self._variant(variant)
        if not chosen.is_usable(draw):
            return {"usable": False}
        exchange.write_inputs(path, chosen.inputs(draw))
        return {"usable": True}

    def compare(self, variant: str, draw: str, path: str) -> dict[str, Any]:
        chosen = self._variant(variant)
        outputs = self._taken(path)
        return measured(chosen, chosen.answer(draw), outputs) | {"remembered": remembered(chosen, draw, outputs)}

    def torchs_share(self, variant: str, draw: str, path: str, steps: list[list[Any]]) -> dict[str, Any]:
        """How much of the outputs torch had made without a kernel, and whether it took every step of the task."""
        held = self._taken(path)
        positions = [int(one) for one in held.layout] if isinstance(held.layout, list) else []
        if len(positions) != len(held.tensors):
            raise BadTensorFile("the positions do not fit the tensors")
        chosen = self._variant(variant)
        share = torchs_share(chosen, draw, held.tensors, positions)
        return {"share": share} | _coverage(steps, chosen.steps())

    def torchs_exact_steps(self, steps: list[list[Any]]) -> dict[str, Any]:
        """Whether torch took every step of the exact task, which is gone through without its memory."""
        return _coverage(steps, steps_on_fakes(self._path, self._text))

    def compare_timed(self, seed: int, path: str) -> dict[str, Any]:
        """The same for the outputs of a timed call, whose inputs were varied by `seed`."""
        chosen = self._variant("exact")
        inputs = TimingInputs(chosen.inputs("own"), chosen.second_inputs())
        inputs.vary(seed)
        return measured(chosen, chosen.answer_on(inputs.current), self._taken(path))

    def move_parameters(self, strongly: bool) -> dict[str, Any]:
        """From now on the parameters are further from their initial values, or as usual again."""
        self._strong_parameters = strongly
        self._variants.clear()
        self._baselines = None
        return {}

    def cheats(self, variant: str) -> dict[str, Any]:
        """The known cheats of this task: by name, and what the survival of each would mean."""
        return {"kinds": {cheat.name: cheat.kind for cheat in cheats_for(self._variant(variant))}}

    def try_cheats(self, variant: str, draw: str, names: list[str]) -> dict[str, Any]:
        """Compare what each cheat would return on a draw, as if a candidate had."""
        return {"results": try_cheats(self._variant(variant), draw, names)}

    def agree(self, first: str, second: str) -> dict[str, Any]:
        """Whether two runs of a candidate on the same inputs gave the same, up to rounding."""
        runs = [exchange.read_outputs(path, self._device) for path in (first, second)]
        return {"agree": same_to_rounding(*runs)}

    def floor(self) -> dict[str, Any]:
        return {"bytes": necessary_bytes(self._variant("exact"))}

    def release(self) -> dict[str, Any]:
        """Give memory back to the device, for a candidate that needs it."""
        for variant in self._variants.values():
            variant.release()
        self._baselines = None
        if self._device == "cuda":
            torch.cuda.empty_cache()
        return {}

    def baseline(self, kind: str) -> dict[str, Any]:
        """Build one baseline; a reason instead where PyTorch cannot."""
        return {"reason": self._timed().build(kind)}

    def time(self, kind: str, seeds: list[int]) -> dict[str, Any]:
        turn = self._timed().time(kind, seeds)
        return {"samples": turn.samples, "digests": turn.digests}

    def idle(self, seed: int, calls: int) -> dict[str, Any]:
        self._timed().idle(seed, calls)
        return {}

    def _timed(self) -> Baselines:
        if self._baselines is None:
            self._baselines = Baselines(self._variant("exact"))
        return self._baselines

    def _variant(self, name: str) -> Variant:
        if name not in self._variants:
            loaded = self._loaded if name == "exact" else load_task(self._path, self._texts[name])
            self._variants[name] = Variant(
                loaded, self._device, self._precision, self._seed, self._strong_parameters
            )
        return self._variants[name]

    def _taken(self, path: str) -> exchange.Flat:
        """What a candidate wrote; nobody needs the file after this."""
        outputs = exchange.read_outputs(path, self._device)
        os.unlink(path)
        return outputs


def _coverage(steps: list[list[Any]], task: list[Step]) -> dict[str, Any]:
    does_all = covers([(str(kind), int(size)) for kind, size in steps], task)
    return {"does_all": does_all, "steps": sorted({kind for kind, _ in task})}
