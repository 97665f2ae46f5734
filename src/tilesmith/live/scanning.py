"""`scan`: where the time of a model goes, and which modules are worth a kernel. Needs no GPU and no memory.

One call runs on fake tensors (on real ones where the code looks at values), and every operator is counted for all
modules it runs in: bytes that PyTorch moves operator by operator, bytes that must move at least, FLOPs.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import flop_registry

from tilesmith.config import CheckConfig
from tilesmith.errors import TaskError, TilesmithError, UsageError
from tilesmith.judge import Judge
from tilesmith.live.calls.call_description import class_name
from tilesmith.live.calls.kept_state import keeping_attributes, putting_back
from tilesmith.live.calls.nests import tensors_in
from tilesmith.live.calls.torch_names import FakeCopyMode, FakeTensorMode, TorchDispatchMode
from tilesmith.live.capturing import capture_calls
from tilesmith.live.user_arguments import require_example
from tilesmith.playbook import LLM_ADVICE, find_match
from tilesmith.playbook.recipe import Declined
from tilesmith.records import Roofline, TaskProfile
from tilesmith.tasks.calls.argument_description import dtype_name
from tilesmith.tasks.gpus import GPUS, REPRESENTATIVES, Gpu, find_gpu
from tilesmith.tasks.roofline import compute_roofline

_FREE = {"detach", "empty", "empty_like", "new_empty", "_unsafe_view", "lift_fresh", "alias", "empty_strided"}
_GATHERS = {"embedding", "index", "index_select", "gather"}
_MOST_ROWS = 20
_MOST_ASKED = 8
"""Groups that the playbook is asked about, those with the most to gain first."""


@dataclass(frozen=True)
class ScannedGroup:
    """Modules of one class, called with equal shapes. Numbers are sums over all its calls."""

    module_class: str
    names: tuple[str, ...]
    inputs: str
    calls: int
    eager_bytes: int
    """What PyTorch moves, operator by operator."""
    least_bytes: int
    """Inputs, parameters and outputs, each once."""
    flops: int
    share: float
    """Of everything the model moves. Modules inside one another are counted in each."""
    roofline: Roofline | None
    """The least time of all calls together, on the GPU of the scan."""
    eager_ms: float
    """The least time of what PyTorch does: its own traffic, or its arithmetic."""
    recipe: str = "unknown"
    """What the playbook would write, or why nothing; unknown where it was not asked."""

    @property
    def gain_ms(self) -> float:
        """What fusing the whole group could save at most."""
        return max(self.eager_ms - (self.roofline.floor_ms if self.roofline else self.eager_ms), 0.0)


@dataclass(frozen=True)
class Scan:
    """A model, seen through one call."""

    groups: tuple[ScannedGroup, ...]
    """Those with the most to gain first."""
    gpu: str
    eager_bytes: int
    flops: int
    eager_ms: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = ("module", "calls", "traffic", "MB moved", "MB needed", "GFLOP", "may save", "playbook")
        rows = [head]
        for one in self.groups[:_MOST_ROWS]:
            more = f" +{len(one.names) - 1}" if len(one.names) > 1 else ""
            rows.append(
                (
                    f"{one.module_class.rpartition('.')[2]} {one.names[0] or '(model)'}{more}",
                    str(one.calls),
                    f"{one.share:.0%}",
                    f"{one.eager_bytes / 1e6:.4g}",
                    f"{one.least_bytes / 1e6:.4g}",
                    f"{one.flops / 1e9:.3g}",
                    f"{one.gain_ms:.3g} ms",
                    one.recipe,
                )
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        left = len(self.groups) - _MOST_ROWS
        lines += [f"... and {left} more groups"] if left > 0 else []
        total = f"whole call: {self.eager_bytes / 1e6:.4g} MB moved, {self.flops / 1e9:.3g} GFLOP"
        lines.append(f"{total}; PyTorch needs at least {self.eager_ms:.3g} ms for it on {self.gpu}")
        return "\n".join([*lines, *self.notes])


def scan(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    gpu: str | None = None,
    recipes: bool = False,
) -> Scan:
    """Counts one call of `model`. `recipes` also asks the playbook, which runs the call for real."""
    require_example(model, args, kwargs)
    row, kwargs = _gpu(gpu), dict(kwargs or {})
    notes = []
    kinds = {one.device.type for one in (*model.parameters(), *tensors_in([args, kwargs]))}
    if "cuda" not in kinds:
        notes.append(
            f"counted on {' and '.join(sorted(kinds))}: on a GPU PyTorch takes other ways, for attention above all"
        )
    try:
        counter = _count(model, tuple(args), kwargs, fake=True)
    except Exception as error:  # whatever the model's code does when it meets a tensor without values
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        notes.append(f"run for real, because fake tensors could not follow the code: {line[:120]}")
        counter = _count(model, tuple(args), kwargs, fake=False)
    groups = [_group(one, counter.total, row) for one in counter.groups.values()]
    groups.sort(key=lambda group: -group.gain_ms)
    if recipes:
        found = _recipes(model, tuple(args), kwargs, [one.names[0] for one in groups[:_MOST_ASKED]])
        groups = [replace(one, recipe=found.get(one.names[0], one.recipe)) for one in groups]
    total = counter.total
    return Scan(tuple(groups), row.name, total.eager_bytes, total.flops, _eager_ms(total, row), tuple(notes))


@dataclass
class _Counts:
    module_class: str = ""
    inputs: str = ""
    names: dict[str, None] = field(default_factory=dict)
    calls: int = 0
    eager_bytes: int = 0
    least_bytes: int = 0
    flops: int = 0
    tensor_flops: int = 0
    dtype: str = "float32"


@dataclass
class _Frame:
    """A call of a module that has not returned."""

    group: _Counts
    held: dict[int, int]
    """Bytes of its inputs and parameters by identity."""
    gathered: dict[int, int] = field(default_factory=dict)
    """Bytes that were looked up in a table, by the table's identity."""


class _Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[str, _Counts] = {}
        self.total = _Counts()
        self._frames: list[_Frame] = []

    def enter(self, name: str, module: nn.Module, given: Any) -> None:
        inputs = ", ".join(f"{list(one.shape)} {dtype_name(one.dtype)}" for one in tensors_in(given))
        owned = [*module.parameters(), *module.buffers()]
        key = f"{class_name(module)} {inputs} {[tuple(one.shape) for one in owned]}"
        group = self.groups.setdefault(key, _Counts(class_name(module), inputs))
        group.names[name] = None
        group.calls += 1
        self._frames.append(_Frame(group, {id(one): _bytes(one) for one in [*tensors_in(given), *owned]}))

    def leave(self, output: Any) -> None:
        frame = self._frames.pop()
        held = {key: min(size, frame.gathered.get(key, size)) for key, size in frame.held.items()}
        held |= {id(one): _bytes(one) for one in tensors_in(output)}
        frame.group.least_bytes += sum(held.values())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        packet = func.overloadpacket
        if packet.__name__ in _FREE or func.is_view:
            return result
        read = {id(one): _bytes(one) for one in tensors_in([args, kwargs])}
        made = sum(_bytes(one) for one in tensors_in(result))
        if packet.__name__ in _GATHERS and isinstance(args[0], torch.Tensor):
            read[id(args[0])] = made
            for frame in self._frames:
                frame.gathered[id(args[0])] = frame.gathered.get(id(args[0]), 0) + made
        products = _product_flops(packet, args, kwargs, result)
        pointwise = 0 if products else max((one.numel() for one in tensors_in([args, result])), default=0)
        first = next(iter(tensors_in([args, result])), None)
        for counts in {id(one): one for one in (self.total, *(frame.group for frame in self._frames))}.values():
            counts.eager_bytes += sum(read.values()) + made
            counts.flops += products + pointwise
            counts.tensor_flops += products
            if products and first is not None:
                counts.dtype = dtype_name(first.dtype)
        return result


def _product_flops(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int:
    """Of a product, a convolution or attention, whose keys may have fewer heads than its queries."""
    if "scaled_dot_product" in operator.__name__ and "backward" not in operator.__name__:
        query, key, value = args[:3]
        return int(2 * query.shape[:-1].numel() * key.shape[-2] * (query.shape[-1] + value.shape[-1]))
    formula = flop_registry.get(operator)
    return int(formula(*args, **kwargs, out_val=result)) if formula is not None else 0


def _count(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], fake: bool) -> _Counter:
    """A call on fake tensors leaves nothing behind; a cache among the arguments is a copy."""
    counter = _Counter()
    with ExitStack() as stack:
        stack.enter_context(putting_back(model))
        if fake:
            stack.enter_context(keeping_attributes(model))
            mode = FakeTensorMode(allow_non_fake_inputs=True)
            with FakeCopyMode(mode):
                args, kwargs = copy.deepcopy((args, kwargs))
        for name, module in model.named_modules():
            if not isinstance(module, torch.jit.ScriptModule):  # they take no hooks
                for hook in _hooks(counter, name, module):
                    stack.callback(hook.remove)
        with torch.no_grad(), mode if fake else nullcontext(), counter:
            model(*args, **kwargs)
    return counter


def _hooks(counter: _Counter, name: str, module: nn.Module) -> Iterator[Any]:
    yield module.register_forward_pre_hook(
        lambda inner, args, kwargs: counter.enter(name, inner, [args, kwargs]), with_kwargs=True
    )
    yield module.register_forward_hook(lambda inner, args, output: counter.leave(output))


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _group(counts: _Counts, total: _Counts, gpu: Gpu) -> ScannedGroup:
    least = _profile(counts, counts.least_bytes)
    return ScannedGroup(
        module_class=counts.module_class,
        names=tuple(counts.names),
        inputs=counts.inputs,
        calls=counts.calls,
        eager_bytes=counts.eager_bytes,
        least_bytes=counts.least_bytes,
        flops=counts.flops,
        share=counts.eager_bytes / total.eager_bytes if total.eager_bytes else 0.0,
        roofline=compute_roofline(least, gpu),
        eager_ms=_eager_ms(counts, gpu),
    )


def _profile(counts: _Counts, moved: int) -> TaskProfile:
    return TaskProfile(bytes_moved=moved, flops=counts.flops, tensor_flops=counts.tensor_flops, dtype=counts.dtype)


def _eager_ms(counts: _Counts, gpu: Gpu) -> float:
    roofline = compute_roofline(_profile(counts, counts.eager_bytes), gpu)
    return roofline.floor_ms if roofline is not None else 0.0


def _gpu(name: str | None) -> Gpu:
    if name is not None:
        named = find_gpu(name) or next((gpu for gpu in GPUS if gpu.name.lower() == name.lower()), None)
        if named is None:
            raise UsageError(f"unknown GPU '{name}': use one of {', '.join(gpu.name for gpu in GPUS)}")
        return named
    here = find_gpu(torch.cuda.get_device_name()) if torch.cuda.is_available() else None
    return here or REPRESENTATIVES[CheckConfig.target]


def _recipes(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]
) -> dict[str, str]:
    """What the playbook says of the groups of these modules."""
    told: dict[str, str] = {}
    captured = capture_calls(model, args, kwargs, lambda name, _: name in names)
    told |= {name: f"none: {why}" for name, why in captured.refused.items()}
    with tempfile.TemporaryDirectory(prefix="tilesmith-scan-") as folder, Judge(CheckConfig()) as judge:
        for number, group in enumerate(captured.groups):
            name = next(iter(group.modules))
            try:
                path = Path(folder) / f"task_{number}.py"
                path.write_text(group.write().text, encoding="utf-8")
                match = find_match(judge.survey(path))
                if isinstance(match, Declined):
                    told[name] = f"none: {match.reason.replace(f'; {LLM_ADVICE}', '')}"
                else:
                    told[name] = f"yes: {match.strategy(match.tunings[0])}"
            except (TaskError, TilesmithError) as error:
                told[name] = f"none: {error}"
    return {name: text if len(text) < 90 else f"{text[:87]}..." for name, text in told.items()}
