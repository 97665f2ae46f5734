"""Describes a task at its full shape: operators, bytes that must move, FLOPs.

On fake tensors, so a 40 GB task costs nothing; on real ones where fakes cannot follow the code
(a branch on a value, say) and the task is not too large for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext

import torch

from tilesmith.errors import MachineError, TaskError
from tilesmith.tasks.roofline import TaskProfile
from tilesmith.worker.task.fake_tensors import fake_tensors
from tilesmith.worker.task.loading import (
    LoadedTask,
    build_model,
    load_task,
    run_forward,
    unload,
)
from tilesmith.worker.task.operator_counts import OpCounter, counting
from tilesmith.worker.tensors.exchange import tensors_in

REAL_RUN_BYTES = 1 << 30


def describe(loaded: LoadedTask) -> TaskProfile:
    """The task's profile; fields stay null, with the reason, where nothing could be found out."""
    held: TaskProfile | None = None
    try:
        held = _measure(loaded, fake=True, forward=False)
        return _measure(loaded, fake=True)
    except (TaskError, MachineError) as error:
        reason = f"fake tensors could not follow the task: {error}"
    size = (held.input_bytes or 0) + (held.parameter_bytes or 0) if held else None
    if size is None or size > REAL_RUN_BYTES:
        return TaskProfile(reason=reason) if held is None else _without_outputs(held, reason)
    try:
        return _measure(loaded, fake=False)
    except (TaskError, MachineError) as error:
        return TaskProfile(reason=str(error))


def _measure(loaded: LoadedTask, fake: bool, forward: bool = True) -> TaskProfile:
    """Loads the task once more (its module may hold tensors of the other kind) and runs it."""
    with fake_tensors() if fake else nullcontext(), torch.no_grad():
        again = load_task(loaded.source)
        try:
            model, inputs = build_model(again), again.make_inputs(seed=0)
            outputs, counter = None, OpCounter()
            if forward:
                with counting(by_shape=fake) as counter:
                    outputs = run_forward(again, model, inputs)
        finally:
            unload(again)
    weights = [*model.parameters(), *model.buffers()]
    parts = (tensors_in(inputs), weights, tensors_in(outputs))
    input_bytes, parameter_bytes, output_bytes = (_bytes(part, counter) for part in parts)
    return TaskProfile(
        ops=dict(counter.ops.most_common()),
        bytes_moved=input_bytes + parameter_bytes + output_bytes,
        input_bytes=input_bytes,
        parameter_bytes=parameter_bytes,
        output_bytes=output_bytes,
        flops=counter.flops,
        tensor_flops=sum(counter.tensor_flops.values()),
        dtype=_dominant_dtype(counter, [*parts[0], *weights]),
    )


def _without_outputs(held: TaskProfile, reason: str) -> TaskProfile:
    return TaskProfile(
        input_bytes=held.input_bytes, parameter_bytes=held.parameter_bytes, dtype=held.dtype, reason=reason
    )


def _bytes(tensors: Iterable[torch.Tensor], counter: OpCounter) -> int:
    """Bytes that must move: shared tensors once, tables no more than what is looked up in them."""
    distinct = {id(tensor): tensor for tensor in tensors}
    read = {key: counter.gathered_elements.get(key, tensor.numel()) for key, tensor in distinct.items()}
    return sum(min(read[key], tensor.numel()) * tensor.element_size() for key, tensor in distinct.items())


def _dominant_dtype(counter: OpCounter, tensors: list[torch.Tensor]) -> str:
    """The dtype that most arithmetic is done in, which decides the peak that applies."""
    if counter.tensor_flops:
        return counter.tensor_flops.most_common(1)[0][0]
    floating = next((tensor.dtype for tensor in tensors if tensor.is_floating_point()), torch.float32)
    return str(floating).removeprefix("torch.")
