"""nn.GRU, nn.LSTM and nn.RNN as one persistent kernel: the time loop inside, the weights in registers.

PyTorch asks cuDNN for every step of every layer anew; the time goes into launches and into reading weights again.
Here programs own some hidden units of some sequences each, hold their rows of the weights on chip for all steps,
and hand each other the state through memory. Everything else of the module stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from tilesmith.playbook.recipe import Declined, TunedPart, Tuning, part_key
from tilesmith.playbook.recipes.recurrent.layer import CELLS, RecurrentLayer, read_layer
from tilesmith.playbook.recipes.recurrent.planning import RecurrentPlan, cudnn_ms, expected_ms, make_plans
from tilesmith.playbook.recipes.recurrent.writing import OWN_NAMES, write_file
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.task_code import WholeModel, read_whole_model, refuse_constants
from tilesmith.records import Analysis, Survey
from tilesmith.tasks.gpus import REPRESENTATIVES
from tilesmith.tasks.graph import Graph

_WORTH_IT = 0.97
"""Of cuDNN's time: what is expected to need more is left to PyTorch."""
_NAMES = {"gru": "GRU", "lstm": "LSTM", "rnn_tanh": "RNN (tanh)", "rnn_relu": "RNN (relu)"}


class RecurrentRecipe:
    name = "recurrent"

    def __init__(self, keeps_pytorch: bool = True) -> None:
        """`keeps_pytorch`: step aside for sizes at which cuDNN is expected to be faster."""
        self._keeps_pytorch = keeps_pytorch

    def match(self, survey: Survey, graph: Graph) -> RecurrentMatch | Declined:
        found = self._match(survey, graph)
        if isinstance(found, Declined) and any(node.op in CELLS for node in graph.nodes):
            return replace(found, is_its_kind=True)
        return found

    def _match(self, survey: Survey, graph: Graph) -> RecurrentMatch | Declined:
        if survey.gpu is not None and survey.gpu.target.startswith("gfx"):
            return Declined("its kernels use instructions of NVIDIA's GPUs")
        try:
            layer = read_layer(graph)
            replacement = f"Persistent{layer.class_name}"
            model = read_whole_model(survey, layer.class_name, replacement)
            refuse_constants(model, OWN_NAMES)
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        found = make_plans(layer, _multiprocessors(survey), survey.environment.get("precision") == "ieee")
        if not found:
            return Declined(_why_nothing_fits(layer, _multiprocessors(survey)))
        if self._keeps_pytorch and expected_ms(layer, found[0]) > _WORTH_IT * cudnn_ms(layer):
            return Declined(_why_pytorch_is_kept(layer, found[0]))
        return RecurrentMatch(survey, layer, model, found)


@dataclass(frozen=True)
class RecurrentMatch:
    survey: Survey
    layer: RecurrentLayer
    model: WholeModel
    plans: tuple[RecurrentPlan, ...]

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        return tuple(plan.tuning for plan in self.plans)

    @cached_property
    def parts(self) -> tuple[TunedPart, ...]:
        """One: grid, blocks and warps depend on one another. Exact products are slower, and tried if others err."""
        fast = tuple(one for one in self.tunings if ("EXACT" in one) == ("EXACT" in self.tunings[0]))
        key = part_key(self.layer, self.tunings, self.write(self.tunings[0]))
        return (TunedPart("", key, "", fast, lambda _: (), may_be_left=False),)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        """None but the plans themselves: registers are full, and grid, blocks and warps depend on one another."""
        return ()

    def write(self, tuning: Tuning) -> str:
        plan = self._plan(tuning)
        return write_file(self.layer, plan, self.model, f"{self._title(plan)}\n\n{self._how(plan)}")

    def strategy(self, tuning: Tuning) -> str:
        return self._how(self._plan(tuning))

    def analysis(self) -> Analysis:
        layer, plan = self.layer, self.plans[0]
        steps = layer.time * layer.num_layers
        count = f"{layer.num_layers} layers" if layer.num_layers > 1 else "1 layer"
        return Analysis(
            bottleneck=(
                f"latency: {steps} steps ({layer.time} of {count}) that wait for one another, each with products "
                "too small to fill the GPU; PyTorch launches them one by one and reads the weights again for each"
            ),
            method="one persistent kernel with the time loop inside and the weights stationary in registers",
            plan=self._how(plan),
            expected_speedup=round(max(cudnn_ms(layer) / expected_ms(layer, plan), 1.0), 1),
            complexity="persistent",
            kernel_type="persistent_recurrent",
            fallback=f"one layer per launch, the input's products made before; then nn.{layer.class_name} as it is",
        )

    def _plan(self, tuning: Tuning) -> RecurrentPlan:
        return next((plan for plan in self.plans if plan.tuning == tuning), self.plans[0])

    def _title(self, plan: RecurrentPlan) -> str:
        layer = self.layer
        way = "both directions at once" if layer.directions == 2 else "time loop inside, weights in registers"
        return f"{_NAMES[layer.cell]} as a persistent kernel: {way}."

    def _how(self, plan: RecurrentPlan) -> str:
        layer = self.layer
        parts, groups = -(-layer.hidden_size // plan.units), -(-layer.batch // plan.batch)
        own = f"{plan.units} of {layer.hidden_size} hidden units for up to {plan.batch} sequences"
        most = _multiprocessors(self.survey) // (parts * (plan.layers_at_once or layer.directions)) * plan.batch
        if plan.layers_at_once:
            programs = parts * groups * plan.layers_at_once
            launches = -(-layer.num_layers // plan.layers_at_once)
            together = f"All layers ({layer.num_layers})" if launches == 1 else f"{plan.layers_at_once} layers"
            walk = (
                f"{together} run in one launch of {programs} programs as a wave: a layer starts a step as soon as "
                "the one below has finished it."
            )
        else:
            programs = parts * groups * layer.directions
            directions = ", both directions at once" if layer.directions == 2 else ""
            walk = (
                f"One launch of {programs} programs per layer{directions}; the input's products are made before, "
                "in one product for all steps."
            )
        return (
            f"A program of {plan.warps} warps owns {own} and holds its rows of the weights in registers for all "
            f"steps. {walk} Programs exchange the state through a ring of words that carry the number of their "
            f"turn: whoever reads one knows that it is new, without a barrier. {_PRODUCTS[plan.words]} "
            "All programs must be on the GPU at once: "
            f"with {_multiprocessors(self.survey)} multiprocessors that is a batch of up to {most}."
        )


_PRODUCTS = {
    "tf32": "Products are tf32 with rounded operands, as cuDNN's are.",
    "float32": "Products are float32, in three tf32 products each.",
    "float16": "Products are float16 and sums float32.",
    "bfloat16": "Products are bfloat16 and sums float32.",
}


def _multiprocessors(survey: Survey) -> int:
    return survey.gpu.multiprocessors if survey.gpu else REPRESENTATIVES["sm_90"].multiprocessors


def _why_nothing_fits(layer: RecurrentLayer, multiprocessors: int) -> str:
    return (
        f"a layer of {layer.hidden_size} hidden units for {layer.batch} sequences does not fit on "
        f"{multiprocessors} multiprocessors with its weights in registers; PyTorch is kept"
    )


def _why_pytorch_is_kept(layer: RecurrentLayer, plan: RecurrentPlan) -> str:
    return (
        f"cuDNN needs about {cudnn_ms(layer):.2g} ms for {layer.hidden_size} hidden units and {layer.num_layers} "
        f"layers here, this recipe {expected_ms(layer, plan):.2g} ms; PyTorch is kept"
    )
