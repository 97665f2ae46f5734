"""The modules inside a model that can be traced where the model itself cannot.

The model runs once for real, which shows what each of its modules is given; then those are traced on fakes, from
the outside in. Modules that are alike are one part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from tilesmith.tasks.graph import ModulePart
from tilesmith.worker.task.fake_tensors import fake_tensors, gpu_or_none
from tilesmith.worker.task.forward_arguments import ForwardArguments, call
from tilesmith.worker.task.loading import LoadedTask, build_model, load_task, unload
from tilesmith.worker.task.traced.graph_records import form, plain_state_of, signature_of
from tilesmith.worker.task.traced.turns import Traced, with_turns
from tilesmith.worker.task.tracing import TracedRun
from tilesmith.worker.tensors.exchange import map_tensors, tensors_in

_MOST_TRACES = 64
_MOST_ELEMENTS = 64_000_000
"""Of inputs and parameters, where there is no GPU that would run a larger model in a moment."""


def trace_parts(loaded: LoadedTask, training: bool | None) -> tuple[ModulePart, ...]:
    calls = _record_calls(loaded, training)
    if not calls:
        return ()
    with fake_tensors(), torch.no_grad():
        again = load_task(loaded.source)
        try:
            model = build_model(again)
            model = model if training is None else model.train(training)
            return tuple(_parts(model, calls))
        finally:
            unload(again)


def _record_calls(loaded: LoadedTask, training: bool | None) -> dict[str, ForwardArguments]:
    """What every module is given when it is called first, as tensors without values."""
    found: dict[str, ForwardArguments] = {}
    with gpu_or_none(), torch.no_grad(), suppress(Exception):  # a task that fails has no parts either
        model, inputs = build_model(loaded), loaded.make_inputs(seed=0)
        has_gpu = torch.cuda.is_available()
        if not has_gpu and sum(one.numel() for one in [*tensors_in(inputs), *model.parameters()]) > _MOST_ELEMENTS:
            return {}
        if has_gpu:
            model, inputs = model.cuda(), map_tensors(inputs, torch.Tensor.cuda)
        model = model if training is None else model.train(training)
        for path, module in model.named_modules():

            def note(_: nn.Module, args: Any, kwargs: Any, path: str = path) -> None:
                found.setdefault(path, map_tensors(ForwardArguments(list(args), dict(kwargs)), _without_values))

            module.register_forward_pre_hook(note, with_kwargs=True)
        call(model, inputs)
    return found


def _without_values(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _on_fakes(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)


def _twice(tensor: torch.Tensor) -> torch.Tensor:
    return torch.cat([tensor, tensor]) if tensor.dim() else tensor


def _parts(model: nn.Module, calls: dict[str, ForwardArguments]) -> Iterator[ModulePart]:
    known: dict[str, ModulePart | None] = {}
    paths: dict[str, list[str]] = {}
    for path, module in model.named_modules():
        within = any(path.startswith(f"{one}.") for key, taken in paths.items() if known[key] for one in taken)
        if not path or path not in calls or within:
            continue
        key = _key(module, calls[path])
        if key not in known and len(known) < _MOST_TRACES:
            known[key] = _traced(model, path, module, calls[path])
        paths.setdefault(key, []).append(path)
    for key, part in known.items():
        if part is not None:
            yield ModulePart(tuple(paths[key]), part.module, part.signature, part.graph)


def _key(module: nn.Module, given: ForwardArguments) -> str:
    """The same for modules that do the same with what they are given."""
    owned = [(name, form(one)) for name, one in (*module.named_parameters(), *module.named_buffers())]
    inside = [(name, type(one).__name__) for name, one in module.named_modules()]
    without_first = map_tensors(given, lambda one: (one.shape[1:], one.stride(), one.dtype))
    return repr((inside, owned, sorted(plain_state_of(module), key=repr), without_first))


def _traced(model: nn.Module, path: str, module: nn.Module, given: ForwardArguments) -> ModulePart | None:
    name, signature = _class_name(model, module), signature_of(module)
    if name is None or not signature:
        return None
    with suppress(Exception):  # then what is inside may do
        traced, others = _trace(module, given), list[Traced]()
        with suppress(Exception):  # it may be made for this many alone
            others.append(_trace(module, map_tensors(given, _twice)))
        assert traced.graph is not None
        found = with_turns(traced, others)
        graph = replace(traced.graph, conditions=found.conditions, turning=found.turning)
        return ModulePart((path,), name, signature, graph)
    return None


def _trace(module: nn.Module, given: ForwardArguments) -> Traced:
    run = TracedRun(module, map_tensors(given, _on_fakes))
    return run.translated(run.run())


def _class_name(model: nn.Module, module: nn.Module) -> str | None:
    """As the task's file calls it; None where that does not know it."""
    kind = type(module)
    if getattr(nn, kind.__name__, None) is kind:
        return f"nn.{kind.__name__}"
    return kind.__name__ if kind.__module__ == type(model).__module__ and "." not in kind.__qualname__ else None
