"""Which programs share a recurrent layer: how many units and sequences each owns, and how many layers run at once.

Two ways to go through the layers:

    wave    all layers in one launch; layer n works on step t while layer n + 1 works on t - 2. Every program holds
            its rows of W_ih and of W_hh in registers.
    layer   one launch per layer (both directions in it); x @ W_ih^T is made for all steps before. Every program
            holds its rows of W_hh.

Programs wait for one another, so all of a launch must be resident: at most one for each multiprocessor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilesmith.playbook.recipe import Tuning
from tilesmith.playbook.recipes.recurrent.layer import RecurrentLayer

_WEIGHT_REGISTERS = 128
"""Of a thread, for weights: the rest is needed for sums, words and addresses."""
_MOST_IN_A_WAVE, _MOST_IN_A_WAVE_OF_LSTM, _MOST_IN_A_LAYER = 215, 240, 256
"""What these sums of registers may be: no more spilled on any of sm_80, sm_90 and sm_100 (Triton 3.6)."""
_CUDNN_PERSISTENT = 128
"""Hidden units up to which cuDNN 9 was seen to run a persistent kernel."""
_MOST_WORDS = 32
"""That a thread holds at once; a longer state is read and multiplied in two parts."""
LEAST_SLICE = 16
"""Columns of a product that one warp takes at least."""
_LEAST_ROWS = 16
"""Of a product on tensor cores."""


@dataclass(frozen=True)
class RecurrentPlan:
    units: int
    """Hidden units of a program."""
    batch: int
    """Sequences of a program."""
    warps: int
    layers_at_once: int | None
    """Of a wave; None for one launch per layer."""
    words: str
    """How the state is exchanged and multiplied: tf32, float32 (three tf32 products), float16 or bfloat16."""

    @property
    def tuning(self) -> Tuning:
        values = [("UNITS", self.units), ("BATCH", self.batch), ("NUM_WARPS", self.warps)]
        values += [("LAYERS_AT_ONCE", self.layers_at_once)] if self.layers_at_once else []
        values += [("EXACT", 1)] if self.words == "float32" else []
        return Tuning(tuple(values))


def make_plans(layer: RecurrentLayer, multiprocessors: int, is_exact: bool) -> tuple[RecurrentPlan, ...]:
    """All that fit, the most promising first. `is_exact` asks for full float32 products."""
    half = layer.dtype != "float32"
    formats = (layer.dtype,) if half else (("float32",) if is_exact else ("tf32", "float32"))
    found: list[RecurrentPlan] = []
    for words in formats:
        made = sorted(_fitting(layer, multiprocessors, words), key=lambda plan: _expected_us(layer, plan))
        found += made if words == formats[0] else made[:1]
    return tuple(found)


def rows_per_unit(layer: RecurrentLayer) -> int:
    """Rows of one product for all gates of a unit: a power of two, so a GRU has an empty one."""
    return 4 if layer.gates > 1 else 1


def chunks(layer: RecurrentLayer, plan: RecurrentPlan) -> int:
    """Parts in which a step reads the state, one after the other."""
    return 1 if plan.layers_at_once else max(_words(layer, plan) // _MOST_WORDS, 1)


def expected_ms(layer: RecurrentLayer, plan: RecurrentPlan) -> float:
    return _expected_us(layer, plan) / 1000


def cudnn_ms(layer: RecurrentLayer) -> float:
    """What PyTorch needs out of a CUDA graph: a careful guess, rather too fast than too slow.

    Up to 128 hidden units cuDNN has a persistent kernel of its own, one layer after the other. Above, it starts
    kernels for every step and overlaps layers, unless there are two directions.
    """
    cell, few = {"lstm": 0.9, "gru": 1.0}.get(layer.cell, 0.6), layer.batch <= 8
    if layer.hidden_size <= _CUDNN_PERSISTENT:
        step = 0.25 + layer.hidden_size / 256
    elif layer.num_layers == 1 or layer.directions == 2:
        step = (4.4 if few or layer.hidden_size < 256 else 6.5) * cell
    elif layer.hidden_size < 512:
        step = (1.9 if few else 2.8) * cell
    else:
        step = (5.0 if layer.hidden_size >= 1024 and not few else 3.5) * cell
    start = 15 + min(layer.hidden_size, _CUDNN_PERSISTENT) / 8
    return (layer.time * layer.num_layers * step + start) / 1000


def _fitting(layer: RecurrentLayer, multiprocessors: int, words: str) -> Iterator[RecurrentPlan]:
    batch = 8 if layer.batch <= 8 and words not in ("float16", "bfloat16") else 16
    for units in (4, 8, 16, 32, 64, 128):
        for warps in (4, 8):
            one_layer = RecurrentPlan(units, batch, warps, None, words)
            programs = _programs(layer, one_layer)
            if units * rows_per_unit(layer) < _LEAST_ROWS or units > max(_power_of_two(layer.hidden_size), 16):
                continue
            if programs * layer.directions <= multiprocessors and _fits(layer, one_layer):
                yield one_layer
            at_once = min(layer.num_layers, multiprocessors // programs)
            if layer.directions == 1 and layer.num_layers > 1 and at_once > 1 and units >= _LEAST_ROWS:
                launches = -(-layer.num_layers // at_once)
                wave = RecurrentPlan(units, batch, warps, -(-layer.num_layers // launches), words)
                if _fits(layer, wave):
                    yield wave


def _programs(layer: RecurrentLayer, plan: RecurrentPlan) -> int:
    """That share one layer and direction."""
    return -(-layer.hidden_size // plan.units) * -(-layer.batch // plan.batch)


def _width(layer: RecurrentLayer, plan: RecurrentPlan) -> int:
    """Columns of a product as the kernel has them: a power of two, and some for each warp."""
    widest = max(layer.hidden_size, layer.input_size if plan.layers_at_once else 0)
    return max(_power_of_two(widest), LEAST_SLICE * plan.warps)


def _words(layer: RecurrentLayer, plan: RecurrentPlan) -> int:
    """Of the state, for each thread."""
    return _width(layer, plan) * plan.batch // (32 * plan.warps)


def starts_carefully(layer: RecurrentLayer, plan: RecurrentPlan) -> bool:
    """Whether the product of h0 gets the parts that tf32 drops: as cuDNN does but for a GRU, if registers allow."""
    if plan.words != "tf32" or layer.cell == "gru":
        return False
    rest = _weight_registers(layer, plan) // chunks(layer, plan)
    return plan.layers_at_once is not None or _layer_registers(layer, plan) + rest <= _MOST_IN_A_LAYER


def _weight_registers(layer: RecurrentLayer, plan: RecurrentPlan) -> int:
    """Of each thread."""
    rows = (rows_per_unit(layer) if plan.layers_at_once is None else 2 * layer.gates) * plan.units
    per_register = 1 if plan.words in ("tf32", "float32") else 2
    return rows * _width(layer, plan) // (32 * plan.warps * per_register)


def _layer_registers(layer: RecurrentLayer, plan: RecurrentPlan) -> int:
    weights = _weight_registers(layer, plan) * (2 if plan.words == "float32" else 1)  # operands are split in two
    return weights + _sum_registers(layer, plan) + 3 * (_words(layer, plan) // chunks(layer, plan))


def _sum_registers(layer: RecurrentLayer, plan: RecurrentPlan) -> int:
    return rows_per_unit(layer) * plan.units * plan.batch // 32


def _fits(layer: RecurrentLayer, plan: RecurrentPlan) -> bool:
    weights = _weight_registers(layer, plan)
    if weights > _WEIGHT_REGISTERS or chunks(layer, plan) > 2:
        return False
    if plan.layers_at_once is None:
        return _layer_registers(layer, plan) <= _MOST_IN_A_LAYER
    split = weights if plan.words == "float32" else 0
    most = _MOST_IN_A_WAVE_OF_LSTM if layer.cell == "lstm" else _MOST_IN_A_WAVE
    return weights + split + _sum_registers(layer, plan) + 5 * _words(layer, plan) <= most


def _expected_us(layer: RecurrentLayer, plan: RecurrentPlan) -> float:
    launches = -(-layer.num_layers // (plan.layers_at_once or 1))
    steps = layer.time + 3 * (plan.layers_at_once or 0)
    return launches * (steps * _step_us(layer, plan) + 15)


def _step_us(layer: RecurrentLayer, plan: RecurrentPlan) -> float:
    """After a sweep on an H200, good to a third: latency, warps that meet, products, what is read and unpacked."""
    width = _width(layer, plan)
    products = 2 if plan.layers_at_once else 1
    work = products * rows_per_unit(layer) * plan.units * plan.batch * width / 2**18
    cost = {"float32": 1.2, "tf32": 0.4}.get(plan.words, 0.25)
    programs = _programs(layer, plan) * (plan.layers_at_once or layer.directions)
    megabytes = programs * products * 4 * width * min(plan.batch, layer.batch) / 2**20
    return 0.85 + 0.02 * plan.warps + cost * work + 0.38 * megabytes + 0.22 * width * plan.batch / 2**12


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()
