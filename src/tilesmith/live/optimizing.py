"""`optimize_`: captures a model's modules, forges a kernel for each group of equal calls, swaps in what passed."""

from __future__ import annotations

import copy
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tilesmith.errors import UsageError
from tilesmith.judge.decisions.statistics import speedup
from tilesmith.judge.gates.other_shapes import GENERAL
from tilesmith.judge.machine.devices import choose_device
from tilesmith.live.calls.call_records import KernelCard
from tilesmith.live.captured.module_tasks import ROUNDING, same_outputs
from tilesmith.live.capturing import CapturedCalls, CapturedTask, capture_calls, unused_path
from tilesmith.live.forging import ForgeResult, run_one
from tilesmith.live.kernel_cards import KERNEL_NAME, make_card, write_card
from tilesmith.live.loading import Installed, KernelHandle
from tilesmith.live.optimization_settings import Config
from tilesmith.live.swaps.kernel_files import build_kernel
from tilesmith.live.swaps.swapping import SwappedForward, swap_in, swap_out
from tilesmith.records import OutputErrors, Speedup
from tilesmith.tasks.user_code.task_name import TaskName

_MOST_INNER_MODULES = 16
"""A module with more inside is not asked about when nobody named it: no recipe covers that much."""
_NO_GPU = "not timed: no GPU here; nothing was swapped"
_FEWEST_ROUNDS, _MOST_ROUNDS, _TIMING_S = 5, 30, 4.0


@dataclass(frozen=True)
class KernelReport:
    """One group of equal calls, and what became of it."""

    names: tuple[str, ...]
    call: str
    verdict: str
    """passed, or none where no kernel was written."""
    reason: str
    swapped: bool
    speedup: Speedup | None = None
    errors: OutputErrors | None = None
    guard: str | None = None
    """The text of the guard, which says what the kernel is asked for."""
    card: KernelCard | None = None
    kernel: Path | None = None
    task: str | None = None
    run: Path | None = None


class Report:
    """What `optimize_` did, and the way back."""

    def __init__(self, kernels: tuple[KernelReport, ...], handle: KernelHandle, refused: Mapping[str, str]) -> None:
        self.kernels, self._handle, self.refused = kernels, handle, dict(refused)
        self.end_to_end: Speedup | None = None

    @property
    def swapped(self) -> tuple[KernelReport, ...]:
        return tuple(one for one in self.kernels if one.swapped)

    @property
    def hits(self) -> dict[str, int]:
        return self._handle.hits

    @property
    def misses(self) -> dict[str, dict[str, int]]:
        return self._handle.misses

    def undo(self) -> None:
        """Every module has its own forward again."""
        self._handle.undo()

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """A folder for each kernel that passed: best.py, kernel.json and task.py. `load_` reads them."""
        written = []
        for one in self.kernels:
            if one.card is None or one.kernel is None:
                continue
            name = one.card.spec.module_class.rpartition(".")[2].lower()
            path = unused_path(Path(folder), f"{name}_{one.card.sha256[:8]}")
            path.mkdir(parents=True)
            shutil.copyfile(one.kernel, path / KERNEL_NAME)
            (path / "task.py").write_text(one.task or "", encoding="utf-8")
            write_card(path, one.card)  # last: a folder with a card is whole
            written.append(path)
        if not written:
            raise UsageError(
                "there is no kernel to save: " + (self.kernels[0].reason if self.kernels else "nothing fits")
            )
        return tuple(written)

    def __str__(self) -> str:
        lines = []
        for one in self.kernels:
            state = "swapped in" if one.swapped else "kept PyTorch"
            gain = (
                f", {one.speedup.value:.2f}x ({one.speedup.low:.2f} to {one.speedup.high:.2f})"
                if one.speedup
                else ""
            )
            where = ", ".join(name or "the model" for name in one.names[:3])
            more = f" and {len(one.names) - 3} more" if len(one.names) > 3 else ""
            lines.append(f"{state}{gain}: {one.call} at {where}{more}: {one.reason}")
        lines += [f"kept PyTorch: {name or 'the model'}: {why}" for name, why in self.refused.items()]
        if self.end_to_end is not None:
            total = self.end_to_end
            lines.append(f"whole model: {total.value:.2f}x ({total.low:.2f} to {total.high:.2f})")
        calls = str(self._handle)
        return "\n".join([*lines, *([calls] if self._handle.installed else [])]) or "nothing to optimize"


def optimize_(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    config: Config | None = None,
) -> Report:
    """Makes `model` faster in place, for calls like the example. Whatever is swapped in was judged before."""
    config, kwargs = config or Config(), dict(kwargs or {})
    captured = capture_calls(model, tuple(args), kwargs, config.where)
    groups = [
        group
        for group in captured.groups
        if config.where is not None or len(group.spec.inner) <= _MOST_INNER_MODULES
    ]
    groups.sort(key=lambda group: min(name.count(".") + bool(name) for name in group.modules))
    timed = choose_device(config.check().device) == "cuda"
    reports: list[KernelReport] = []
    installed: list[Installed] = []
    covered: set[str] = set()
    for group in groups:
        if all(_is_inside(name, covered) for name in group.modules):
            continue
        one, put_in = _optimize_group(group, config, timed)
        reports.append(one)
        installed += put_in
        if one.card is not None:
            covered |= set(group.modules)
    report = Report(
        tuple(reports), KernelHandle(installed, {}), captured.refused if config.where is not None else {}
    )
    measure = timed if config.measure is None else config.measure
    if measure and installed:
        report.end_to_end = _time_model(lambda: model(*args, **kwargs), [one.module for one in installed])
    return report


def optimize(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    config: Config | None = None,
) -> tuple[nn.Module, Report]:
    """A twin with kernels in it that shares every tensor with `model`, which stays as it is."""
    twin = share_weights(model)
    return twin, optimize_(twin, args, kwargs, config=config)


def share_weights(model: nn.Module) -> nn.Module:
    """A copy of the modules with the same tensors in them."""
    tensors = [*model.parameters(), *model.buffers()]
    tensors += [value for one in model.modules() for value in vars(one).values() if isinstance(value, torch.Tensor)]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})


def _is_inside(name: str, covered: set[str]) -> bool:
    parts = name.split(".") if name else []
    return any(".".join(parts[:end]) in covered for end in range(len(parts)))


def _optimize_group(group: CapturedCalls, config: Config, timed: bool) -> tuple[KernelReport, list[Installed]]:
    names = tuple(group.modules)
    config.tell(f"{group.spec.describe()} at {', '.join(names)}")
    task = group.task()
    if task.text is None:
        return KernelReport(names, group.spec.describe(), "none", str(task.reason), False), []
    if timed and task.spec.device != "cuda":
        raise UsageError("the model is not on the GPU, where its kernels would be judged: move it there first")
    result = _forge(task, config)
    if result.judged is None or result.evaluation is None:
        return KernelReport(
            names, group.spec.describe(), "none", result.why, False, task=task.text, run=result.run
        ), []
    # sizes are free only where the kernel was right at others too
    general = result.evaluation.generality == GENERAL
    spec = task.spec if general else replace(task.spec, arguments=group.spec.arguments)
    card = make_card(spec, names, result.judged, result.evaluation)
    card = replace(card, prefix=task.prefix, flat=True)
    report = KernelReport(
        names=names,
        call=group.spec.describe(),
        verdict=card.verdict,
        reason=result.why,
        swapped=False,
        speedup=card.speedup,
        errors=card.errors,
        card=card,
        kernel=result.judged,
        task=task.text,
        run=result.run,
    )
    if timed and not result.faster:
        return report, []
    if not timed and not config.interpret:
        return replace(report, reason=f"{result.why}; {_NO_GPU}"), []
    try:
        installed = list(_install(group, card, result.judged, config.grad))
    except UsageError as error:
        return replace(report, reason=f"{result.why}, but it does not fit the module: {error}", card=None), []
    return replace(report, swapped=True, guard=installed[0].kernel.text.source), installed


def _forge(task: CapturedTask, config: Config) -> ForgeResult:
    """The task's file lies beside the runs, so that a run can be resumed."""
    folder = config.runs_folder / "tasks"
    folder.mkdir(parents=True, exist_ok=True)
    path = unused_path(folder, task.file_name, ".py")
    path.write_text(task.text or "", encoding="utf-8")
    return run_one(TaskName(str(path)), config)


def _install(group: CapturedCalls, card: KernelCard, kernel: Path, grad: str) -> Iterator[Installed]:
    """On every module of the group, or on none: the live weights must not show what the judge did not see."""
    done: list[Installed] = []
    try:
        for name, module in group.modules.items():
            with torch.no_grad():
                expected = module(*group.args, **group.kwargs)
            guarded = swap_in(module, build_kernel(kernel), card, grad)
            done.append(Installed(name, module, guarded))
            with torch.no_grad():
                found = module(*group.args, **group.kwargs)
            if not guarded.hits[0]:
                raise UsageError(f"its own guard refuses the example: {guarded.misses_by_reason()}")
            if not same_outputs(found, expected, ROUNDING):
                raise UsageError(f"it returns something else than {name or 'the model'} with its weights")
            guarded.hits[0] = 0
    except BaseException:
        for one in done:
            swap_out(one.module, one.kernel)
        raise
    yield from done


def _time_model(call: Callable[[], Any], modules: Sequence[nn.Module]) -> Speedup:
    """The whole model with and without kernels, in turn, so that drift cancels."""
    swapped = [one for module in modules if isinstance(one := vars(module).get("forward"), SwappedForward)]
    times: dict[bool, list[list[float]]] = {False: [], True: []}
    began = time.monotonic()
    with torch.no_grad():
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
