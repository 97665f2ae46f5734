"""Tries a text of a task: does its reference run, and how large is it?

Fake tensors first, which cost no memory and a few milliseconds whatever the sizes; then for real
where that is cheap, because fakes do not notice an index out of range.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from tilesmith.errors import MachineError, TaskError
from tilesmith.tasks.source import TaskSource
from tilesmith.worker.compat.torch_names import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from tilesmith.worker.task.fake_tensors import fake_tensors, gpu_or_none
from tilesmith.worker.task.loading import LoadedTask, build_model, load_task, run_forward, unload
from tilesmith.worker.task.operator_counts import counting
from tilesmith.worker.task.torch_steps import Step, TorchStepLog
from tilesmith.worker.tensors.exchange import tensors_in

REAL_RUN_ELEMENTS = 4_000_000
REAL_RUN_FLOPS = 1_000_000_000
UNFAKEABLE = (
    UnsupportedFakeTensorException,
    DynamicOutputShapeException,
    DataDependentOutputException,
    UnsupportedOperatorException,
    NotImplementedError,
)


@dataclass(frozen=True)
class TaskTrial:
    """How a run of the reference went."""

    runs: bool
    reason: str = ""
    elements: int = 0
    """Over inputs, parameters, buffers and outputs."""
    flops: int = 0
    output_ranks: tuple[int, ...] | None = None
    """Dimensions of every output: a variant that changes them is another task."""
    ran_for_real: bool = False
    outputs: int = 0
    largest_input: int = 0
    """Elements: a kernel may start one program for each output, unless outputs are as many as inputs."""
    rows: int = 0
    """Of the output with the most: there, a kernel may start one program for each row."""
    parameters: tuple[tuple[int, ...], ...] = ()
    """Their shapes, where a function makes the model: ModelNew, which gets no arguments, must have the same."""
    operators: frozenset[str] = frozenset()
    """What kinds ran: others are another way through the code."""

    @property
    def is_map(self) -> bool:
        return self.outputs == self.largest_input


def try_task(task: TaskSource) -> TaskTrial:
    """Runs the reference of a task on fake tensors and, if it is small, on real ones."""
    try:
        trial = _run_fake(task)
        if trial.elements > REAL_RUN_ELEMENTS or trial.flops > REAL_RUN_FLOPS:
            return trial
        return replace(_run_real(task, trial.flops), operators=trial.operators)
    except (TaskError, MachineError) as error:
        return TaskTrial(False, str(error))


def warm_up() -> None:
    """Pays the first fake tensor's second of imports, for a process that will fork."""
    with FakeTensorMode():
        torch.nn.functional.relu(torch.empty(1))


def _run_fake(task: TaskSource) -> TaskTrial:
    with fake_tensors(), torch.no_grad():
        loaded = load_task(task)
        try:
            model, inputs = build_model(loaded), loaded.make_inputs()
            held = _elements([inputs, *model.parameters(), *model.buffers()])
            fixed = _fixed_shapes(loaded, model)
            try:
                with counting() as counter:
                    outputs = run_forward(loaded, model, inputs)
            except TaskError as error:
                if isinstance(error.__cause__, UNFAKEABLE):
                    return TaskTrial(True, f"not on fake tensors: {error}", held, parameters=fixed)
                raise
        finally:
            unload(loaded)
    elements, kinds = held + _elements(outputs), frozenset(counter.ops)
    return TaskTrial(True, "", elements, counter.flops, _ranks(outputs), operators=kinds, parameters=fixed)


def steps_on_fakes(task: TaskSource) -> list[Step]:
    """What torch computes in the task at full size, without its memory; none where that cannot be known."""
    try:
        with fake_tensors(), torch.no_grad():
            loaded = load_task(task)
            try:
                model, inputs = build_model(loaded), loaded.make_inputs()
                with TorchStepLog() as steps:
                    run_forward(loaded, model, inputs)
            finally:
                unload(loaded)
    except (TaskError, MachineError):
        return []
    return steps.taken


@contextmanager
def one_thread() -> Iterator[None]:
    """Small work is slower on many threads (100 times for a GRU on busy cores), and a process that
    ran multi-threaded work cannot fork safely."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _run_real(task: TaskSource, flops: int) -> TaskTrial:
    with one_thread(), torch.no_grad(), gpu_or_none():
        loaded = load_task(task)
        try:
            model, inputs = build_model(loaded), loaded.make_inputs(seed=0)
            outputs = run_forward(loaded, model, inputs)
        finally:
            unload(loaded)
    fault = _degenerate(outputs)
    elements = _elements([inputs, outputs, *model.parameters(), *model.buffers()])
    largest = max((tensor.numel() for tensor in tensors_in(inputs)), default=0)
    rows = max((_rows(tensor) for tensor in tensors_in(outputs)), default=0)
    fixed = _fixed_shapes(loaded, model)
    count = _elements(outputs)
    return TaskTrial(not fault, fault, elements, flops, _ranks(outputs), True, count, largest, rows, fixed)


def _fixed_shapes(loaded: LoadedTask, model: torch.nn.Module) -> tuple[tuple[int, ...], ...]:
    if isinstance(loaded.constructor, type):
        return ()
    return tuple(tuple(parameter.shape) for parameter in model.parameters())


def _rows(tensor: torch.Tensor) -> int:
    return tensor.numel() // tensor.shape[-1] if tensor.dim() and tensor.numel() else 1


def _degenerate(outputs: Any) -> str:
    """Why the outputs could tell no right kernel from a wrong one; empty if they could."""
    tensors = tensors_in(outputs)
    if not tensors or any(tensor.numel() == 0 for tensor in tensors):
        return "an output is empty"
    for tensor in tensors:
        if tensor.is_floating_point() and not torch.isfinite(tensor.float()).any():
            return "an output has no finite value"
    return ""


def _elements(value: Any) -> int:
    return sum(tensor.numel() for tensor in tensors_in(value))


def _ranks(outputs: Any) -> tuple[int, ...]:
    return tuple(tensor.dim() for tensor in tensors_in(outputs))
