"""The text of a written file: templates beside this module, one for each part of it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from tilesmith.playbook.recipes.recurrent.layer import RecurrentLayer
from tilesmith.playbook.recipes.recurrent.planning import (
    LEAST_SLICE,
    RecurrentPlan,
    chunks,
    rows_per_unit,
    starts_carefully,
)
from tilesmith.playbook.writing.kernel_file import wrap
from tilesmith.playbook.writing.task_code import WholeModel

if TYPE_CHECKING:
    from jinja2 import Environment

RING_OF_A_WAVE, RING_OF_A_LAYER = 64, 2
"""Steps of the state that are kept: a layer above may be slower by that much, while peers differ by one step."""
OWN_NAMES = (
    "torch", "nn", "triton", "tl", "libdevice", "UNITS", "BATCH", "NUM_WARPS", "LAYERS_AT_ONCE", "EXACT", "RING",
    "MOST_POLLS", "TAG", "round_to_tf32", "to_words", "from_words", "tag_of", "settled", "reciprocal", "tanh",
    "sigmoid", "sum_of_splits", "input_words", "input_kernel", "gru_kernel", "lstm_kernel", "rnn_tanh_kernel",
    "rnn_relu_kernel", "PersistentGRU", "PersistentLSTM", "PersistentRNN",
)  # fmt: skip
"""What a written file defines by itself."""
_PRECISIONS = {"tf32": ', input_precision="tf32"', "float32": ', input_precision="tf32x3"'}


def write_file(layer: RecurrentLayer, plan: RecurrentPlan, model: WholeModel, summary: str) -> str:
    is_wave = plan.layers_at_once is not None
    halvings = plan.warps.bit_length() - 1
    text = (
        _environment()
        .get_template("file.py.j2")
        .render(
            cell=layer.cell,
            parent=layer.class_name,
            klass=f"Persistent{layer.class_name}",
            dtype=layer.dtype,
            directions=layer.directions,
            bias=layer.bias,
            has_dropout=layer.has_dropout,
            batch_first=layer.batch_first,
            batch_axis=0 if layer.batch_first else 1,
            may_lack_batch=layer.may_lack_batch,
            output=layer.output,
            wants_h=layer.wants_h,
            wants_c=layer.wants_c,
            words=plan.words,
            wave=is_wave,
            tuning=plan.tuning.values,
            looks_early=layer.cell != "lstm",  # with four gates there are no registers left for it
            careful_start=starts_carefully(layer, plan),
            ring=RING_OF_A_WAVE if is_wave else RING_OF_A_LAYER,
            precision=_PRECISIONS.get(plan.words, ""),
            tanh="libdevice.tanh" if plan.words == "float32" else "tanh",
            rows_per_unit=rows_per_unit(layer),
            sums_shape=_sums_shape(layer, is_wave),
            halvings=halvings,
            twos=", ".join(["2"] * halvings),
            recurrent_weights=_recurrent_weights(layer),
            chunks=chunks(layer, plan),
            least_slice=LEAST_SLICE,
            summary="\n".join(line for paragraph in summary.split("\n") for line in (wrap(paragraph) or [""])),
            imports=model.imports,
            definitions=model.definitions,
            model=model.text,
        )
    )
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip() + "\n"


def _sums_shape(layer: RecurrentLayer, is_wave: bool) -> str:
    if not is_wave:
        return "(SPLITS, ROWS, BATCH) to (BATCH, ROWS)."
    gates = ", 2, 2" if rows_per_unit(layer) == 4 else ""
    return f"(SPLITS, UNITS, BATCH{gates}) to (BATCH, UNITS{gates})."


def _recurrent_weights(layer: RecurrentLayer) -> str:
    """W_hh and b_hh of each direction: every second of a layer's parameters."""
    count = layer.directions * (4 if layer.bias else 2)
    return f"({', '.join(f'weights[{n}]' for n in range(1, count, 2))}{',' if count == 2 else ''})"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("tilesmith.playbook.recipes.recurrent", "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # the reader is Python
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
