"""`optimize_`: captures a model's modules, forges a kernel for each group of equal calls, swaps in what passed."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tilesmith.errors import TaskError, UsageError
from tilesmith.judge import Judge
from tilesmith.judge.decisions.statistics import speedup
from tilesmith.judge.gates.other_shapes import GENERAL
from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.live.calls.call_records import CallSpec, KernelCard
from tilesmith.live.calls.nests import tensors_in
from tilesmith.live.calls.torch_names import has_hooks
from tilesmith.live.captured.module_tasks import refuse_other_code
from tilesmith.live.captured.output_comparison import ROUNDING, same_outputs, shared_memory
from tilesmith.live.capturing import (
    CapturedCalls,
    CapturedTask,
    capture_calls,
    shown_names,
    unused_path,
)
from tilesmith.live.forging import ForgeResult, run_one
from tilesmith.live.kernel_cards import make_card
from tilesmith.live.loading import Installed, KernelHandle
from tilesmith.live.optimization_report import KernelReport, Report
from tilesmith.live.optimization_settings import Config
from tilesmith.live.swaps.kernel_files import build_kernel
from tilesmith.live.swaps.swapping import SwappedForward, refuse_replaced_forward, swap_in
from tilesmith.live.user_arguments import make_folder, require_config, require_example
from tilesmith.records import Speedup
from tilesmith.tasks.user_code.task_name import TaskName

_MOST_INNER_MODULES = 16
"""A module with more inside is not asked about when nobody named it: no recipe covers that much."""
_TOO_LARGE = "not asked about: it has so much inside that no recipe covers it; name it with where to try"
_FEWEST_ROUNDS, _MOST_ROUNDS, _TIMING_S = 5, 30, 4.0


def optimize_(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    config: Config | None = None,
) -> Report:
    """Makes `model` faster in place, for calls like the example. Whatever is swapped in was judged before."""
    require_example(model, args, kwargs)
    require_config(config, Config)
    config, kwargs = config or Config(), dict(kwargs or {})
    captured = capture_calls(model, tuple(args), kwargs, config.where)
    refused, groups = dict(captured.refused), []
    for group in captured.groups:
        if config.where is None and len(group.spec.inner) > _MOST_INNER_MODULES:
            refused |= dict.fromkeys(group.modules, _TOO_LARGE)
        else:
            groups.append(group)
    groups.sort(key=_rank)
    installed: list[Installed] = []
    try:
        with Judge(config.check()) as judge:
            work = _Optimization(config, judge, installed, lambda: model(*args, **kwargs))
            for group in groups:
                work.add(group)
        report = Report(tuple(work.reports), KernelHandle(installed, {}), refused)
        measure = judge.device == "cuda" if config.measure is None else config.measure
        if measure and installed:
            report.end_to_end = _time_model(lambda: model(*args, **kwargs), [one.module for one in installed])
    except BaseException:  # nobody would have the report, which takes kernels out
        KernelHandle(installed, {}).undo()
        raise
    for one in installed:  # so far they were our own calls
        one.kernel.forget_calls()
    return report


def optimize(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    config: Config | None = None,
) -> tuple[nn.Module, Report]:
    """A twin with kernels in it that shares every tensor with `model`, which stays as it is."""
    require_example(model, args, kwargs)
    twin = share_weights(model)
    return twin, optimize_(twin, args, kwargs, config=config)


def share_weights(model: nn.Module) -> nn.Module:
    """A copy of the modules with the same tensors in them."""
    tensors = [*model.parameters(), *model.buffers()]
    tensors += [value for one in model.modules() for value in vars(one).values() if isinstance(value, torch.Tensor)]
    try:
        return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
    except Exception as error:  # whatever its attributes do when they are copied
        raise UsageError(f"the model cannot be copied: {error}; optimize_ changes the model itself") from None


def _rank(group: CapturedCalls) -> tuple[bool, int]:
    """Recurrent layers first, which a kernel for what is around them leaves to PyTorch; then from the outside."""
    recurrent = isinstance(next(iter(group.modules.values())), nn.RNNBase)
    return not recurrent, max(name.count(".") + bool(name) for name in group.modules)


def overlaps(module: nn.Module, covered: Iterable[nn.Module]) -> bool:
    """Whether a module lies inside one of the others, or around one; one may lie in several places."""
    return any(one is not module and (one in {*module.modules()} or module in {*one.modules()}) for one in covered)


def refuse_hooks_inside(module: nn.Module) -> None:
    for name, inner in module.named_modules():
        if name and has_hooks(inner):
            raise UsageError(f"its {name} has hooks, which a kernel would leave out")


class _Optimization:
    """What is done with one group after another: one judge serves all, and equal tasks are forged once."""

    def __init__(
        self, config: Config, judge: Judge, installed: list[Installed], call_model: Callable[[], Any]
    ) -> None:
        self.reports: list[KernelReport] = []
        self.installed, self._call_model = installed, call_model
        self._config, self._judge, self._timed = config, judge, judge.device == "cuda"
        self._covered: set[nn.Module] = set()
        """Modules that have a kernel: what is inside them, or around them, is left alone."""
        self._results: dict[str, ForgeResult] = {}

    def add(self, group: CapturedCalls) -> None:
        apart = {name: module for name, module in group.modules.items() if not overlaps(module, self._covered)}
        if apart:
            report = self._optimize(replace(group, modules=apart))
            self.reports.append(report)
            if report.card is not None and (report.swapped or not self._timed):
                self._covered |= set(apart.values())

    def _optimize(self, group: CapturedCalls) -> KernelReport:
        config, names = self._config, tuple(group.modules)
        config.tell(f"{group.spec.describe()} at {shown_names(names)}")
        try:
            for module in group.modules.values():
                refuse_replaced_forward(module)
                refuse_hooks_inside(module)
        except UsageError as error:
            return KernelReport(names, group.spec.describe(), "none", str(error), False)
        task = group.task()
        if task.text is None:
            return KernelReport(names, group.spec.describe(), "none", str(task.reason), False)
        if self._timed and task.spec.device != "cuda":
            raise UsageError("the model is not on the GPU, where its kernels would be judged: move it there first")
        try:
            result = self._forge(task, group.spec)
        except TaskError as error:
            return KernelReport(names, group.spec.describe(), "none", str(error), False, task=task.text)
        report = KernelReport(
            names, group.spec.describe(), "none", result.why, False, task=task.text, run=result.run
        )
        if result.judged is None or result.evaluation is None:
            return report
        # sizes are free only where the kernel was right at others too
        general = result.evaluation.generality == GENERAL
        spec = task.spec if general else replace(task.spec, arguments=group.spec.arguments)
        card = make_card(spec, names, result.judged, result.evaluation)
        card = replace(card, prefix=task.prefix, flat=True)
        timing = result.evaluation.timing
        report = replace(
            report,
            verdict=card.verdict,
            speedup=card.speedup,
            speedups=timing.speedup if timing else {},
            errors=card.errors,
            card=card,
            kernel=result.judged,
        )
        if self._timed and not result.beats(config.beat):
            return report
        if not self._timed and not config.interpret:
            return replace(report, reason=f"{result.why}; nothing was swapped in")
        try:
            installed = install_kernel(group, card, result.judged, str(task.text), config.grad, self._call_model)
        except UsageError as error:
            return replace(report, reason=f"{result.why}, but it does not fit the module: {error}", card=None)
        self.installed += installed
        guard = installed[0].kernel.text.source
        if timing and not result.faster:
            why = f"{result.why}; swapped in, because it is {timing.speedup['eager'].value:.2f}x as fast as eager"
            report = replace(report, reason=why)
        return replace(report, swapped=True, guard=guard)

    def _forge(self, task: CapturedTask, spec: CallSpec) -> ForgeResult:
        """The task's file lies beside the runs, so that a run can be resumed.

        Settings that the forward pass does not read, the number of a layer say, make no other task.
        """
        same = repr((spec if task.prefix else replace(spec, settings={}), task.body))
        if same not in self._results:
            folder = self._config.runs_folder / "tasks"
            make_folder(folder)
            path = unused_path(folder, task.file_name, ".py")
            path.write_text(task.text or "", encoding="utf-8")
            self._results[same] = run_one(TaskName(str(path)), self._config, self._judge)
        return self._results[same]


def install_kernel(
    group: CapturedCalls,
    card: KernelCard,
    kernel: Path,
    task: str,
    grad: str,
    call_model: Callable[[], Any] = lambda: None,
) -> list[Installed]:
    """On every module of the group, or on none: the live weights must not show what the judge did not see.

    Where a kernel lays its results out in another way, the model is called: code after it may rely on the old one.
    """
    done: list[Installed] = []
    same_strides = True
    try:
        for name, module in group.modules.items():
            if task:
                refuse_other_code(module, card.spec, task, card.prefix)
            with torch.no_grad():
                expected = module.forward(*group.args, **group.kwargs)  # without its hooks, which stay
            guarded = swap_in(module, build_kernel(kernel), card, grad)
            done.append(Installed(name, module, guarded))
            try:
                with torch.no_grad():
                    found = module.forward(*group.args, **group.kwargs)
            except Exception as error:  # a judge's process is not this one
                raise UsageError(f"it fails in this process: {type(error).__name__}: {error}") from None
            if not guarded.hits[0]:
                raise UsageError(f"its own guard refuses the example: {guarded.misses_by_reason()}")
            if not same_outputs(found, expected, ROUNDING):
                raise UsageError(f"it returns something else than {name or 'the model'} with its weights")
            held = [*tensors_in([group.args, group.kwargs]), *module.parameters(), *module.buffers()]
            if shared_memory(found, held) != shared_memory(expected, held):
                raise UsageError("it returns a copy where the module returns a part of its inputs or parameters")
            guarded.hits[0] = 0
            same_strides &= _strides(found) == _strides(expected)
        if not same_strides:
            try:
                with torch.no_grad():
                    call_model()
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                raise UsageError(f"its results have other strides, with which the model fails: {why}") from None
    except BaseException:
        for one in done:
            one.kernel.remove()
        raise
    return done


def _strides(outputs: Any) -> list[list[int]]:
    """Those that say where an element lies."""
    sizes = [zip(one.shape, one.stride(), strict=True) for one in tensors_in(outputs)]
    return [[stride for size, stride in one if size > 1] for one in sizes]


def _time_model(call: Callable[[], Any], modules: Sequence[nn.Module]) -> Speedup:
    """The whole model with and without kernels, in turn, so that drift cancels, and while no judge uses the GPU."""
    swapped = [one for module in modules if isinstance(one := vars(module).get("forward"), SwappedForward)]
    times: dict[bool, list[list[float]]] = {False: [], True: []}
    began = time.monotonic()
    with GpuLock().alone(), torch.no_grad():
        for number in range(_MOST_ROUNDS + 1):
            for with_kernels in (False, True):
                for one in swapped:
                    one.first = one.kernels[-1].forward if with_kernels else one.original
                seconds = _seconds(call)
                if number:  # the first is a warm-up
                    times[with_kernels].append([seconds])
            if number >= _FEWEST_ROUNDS and time.monotonic() - began > _TIMING_S:
                break
    return speedup(times[False], times[True])


def _seconds(call: Callable[[], Any]) -> float:
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    began = time.perf_counter()
    call()
    wait()
    return time.perf_counter() - began
