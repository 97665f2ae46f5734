"""Recurrent layers by shape alone.

On fake tensors `nn.GRU` unrolls into thousands of small operators (seconds for a long sequence),
and the FLOP counter misses fused ones. Their shapes and costs follow from the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from tilesmith.worker.compat.patches import Replacement, replaced
from tilesmith.worker.compat.torch_names import recurrent_functions

KINDS = ("gru", "lstm", "rnn_tanh", "rnn_relu")
POINTWISE_PER_HIDDEN = 10
"""Activations, products and sums per hidden unit and step: about ten for a GRU or an LSTM."""


class RecurrentCall(NamedTuple):
    """One fused recurrent layer stack that was called, and what it costs."""

    kind: str
    matmul_flops: int
    pointwise_flops: int
    dtype: torch.dtype


@contextmanager
def recurrent_by_shape(report: Callable[[RecurrentCall], None]) -> Iterator[None]:
    """Inside, recurrent modules return empty outputs of the right shape and report their cost."""
    shape_only = {kind: _shape_only(kind, getattr(recurrent_functions, kind), report) for kind in KINDS}
    with replaced(Replacement(recurrent_functions, *one) for one in shape_only.items()):
        yield


def _shape_only(kind: str, original: Any, report: Callable[[RecurrentCall], None]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        if len(args) != 9 or not isinstance(args[2], list | tuple):
            return original(*args)  # a packed sequence: let torch unroll it
        sequence, state, weights, _bias, layers, _dropout, _training, bidirectional, batch_first = args
        time, batch = sequence.shape[:2][::-1] if batch_first else sequence.shape[:2]
        report(_cost(kind, sequence.dtype, weights, time * batch))
        first = state[0] if isinstance(state, list | tuple) else state
        directions = 2 if bidirectional else 1
        width = first.shape[-1]
        output = sequence.new_empty(*sequence.shape[:2], directions * width)
        last = sequence.new_empty(layers * directions, batch, width)
        if kind == "lstm":
            return output, last, sequence.new_empty(state[1].shape)
        return output, last

    return call


def _cost(kind: str, dtype: torch.dtype, weights: Any, rows: int) -> RecurrentCall:
    matrices = [weight for weight in weights if weight.dim() == 2]
    gates = {"gru": 3, "lstm": 4}.get(kind, 1)
    hidden = sum(matrix.shape[0] for matrix in matrices) // (2 * gates)
    matmul = 2 * rows * sum(matrix.numel() for matrix in matrices)
    return RecurrentCall(kind, matmul, POINTWISE_PER_HIDDEN * rows * hidden, dtype)
