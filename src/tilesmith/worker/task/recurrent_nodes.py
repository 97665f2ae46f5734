"""Recurrent layers as one node each, whatever the length of the sequence.

On fake tensors `nn.GRU` runs step by step: seven seconds for 512 steps of six layers. While a task is traced, a
stand-in with the same signature takes its place, which knows the shapes; the graph calls it by its real name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from tilesmith.worker.compat.patches import Replacement, replaced
from tilesmith.worker.compat.torch_names import recurrent_functions

_ARGUMENTS = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first"
)
_SCHEMAS = {
    "gru": f"(Tensor input, Tensor hx, {_ARGUMENTS}) -> (Tensor, Tensor)",
    "rnn_tanh": f"(Tensor input, Tensor hx, {_ARGUMENTS}) -> (Tensor, Tensor)",
    "rnn_relu": f"(Tensor input, Tensor hx, {_ARGUMENTS}) -> (Tensor, Tensor)",
    "lstm": f"(Tensor input, Tensor[] hx, {_ARGUMENTS}) -> (Tensor, Tensor, Tensor)",
}
REAL_NAMES = {f"tilesmith_trace.{kind}.default": f"aten.{kind}.input" for kind in _SCHEMAS}
_library: list[Any] = []
"""Holds the stand-ins, once they are made: PyTorch forgets an operator when its library is collected."""


@contextmanager
def recurrent_as_nodes() -> Iterator[None]:
    """Inside, recurrent modules call the stand-ins; a packed sequence is still unrolled."""
    _make_stand_ins()
    nodes = torch.ops.tilesmith_trace
    redirected = {kind: _redirected(getattr(nodes, kind), getattr(recurrent_functions, kind)) for kind in _SCHEMAS}
    with replaced(Replacement(recurrent_functions, *one) for one in redirected.items()):
        yield


def _redirected(stand_in: Any, original: Any) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        is_plain = len(args) == 9 and isinstance(args[3], bool)
        return stand_in(*args) if is_plain else original(*args)

    return call


def _make_stand_ins() -> None:
    if _library:
        return
    library = torch.library.Library("tilesmith_trace", "DEF")
    for kind, schema in _SCHEMAS.items():
        library.define(kind + schema)
        library.impl(kind, _shapes, "CompositeExplicitAutograd")
    _library.append(library)


def _shapes(input: Any, hx: Any, params: Any, *settings: Any) -> tuple[Any, ...]:
    directions = 2 if settings[-2] else 1
    states = hx if isinstance(hx, list | tuple) else [hx]
    output = input.new_empty(*input.shape[:-1], directions * states[0].shape[-1])
    return output, *(torch.empty_like(state) for state in states)
