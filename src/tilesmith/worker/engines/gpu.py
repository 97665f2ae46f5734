"""On a GPU: every Triton launch of a candidate, and what its compiled kernels use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch

from tilesmith.process.protocol.candidate import MOST_CONFIGS
from tilesmith.records import KernelResources
from tilesmith.worker.compat.patches import Replacement, replace, replaced
from tilesmith.worker.compat.torch_names import sleep_on_gpu
from tilesmith.worker.compat.triton_names import Autotuner, CompiledKernel, JITFunction, active_driver
from tilesmith.worker.engines.engine import CallSettings, LaunchObserver, NoObserver

_SLEEP_KERNEL = "spin_kernel"
_LONG_SLEEP_CYCLES = 4_000_000
"""About 2 ms: Python has queued the whole call by then."""
_CLOCK_GRAIN_US = 2.0
_TENSOR_CORE_PTX = ("wgmma.", "mma.sync", "tcgen05.mma", "v_mfma")


@dataclass(frozen=True)
class _GpuLaunch:
    name: str
    compiled: Any


class GpuEngine:
    """Installed once, before the candidate is loaded; keeps the name and the grid of every launch."""

    def __init__(self) -> None:
        torch.cuda.init()
        self.names: list[str] = []
        self.grids: set[str] = set()
        self.observer: LaunchObserver = NoObserver()
        self.autotuned = 0
        self._compiled: dict[int, Any] = {}
        self._captured: list[_GpuLaunch] | None = None
        """What was launched into the CUDA graph that is being captured, if one is."""
        self._in_graphs: WeakKeyDictionary[Any, list[_GpuLaunch]] = WeakKeyDictionary()
        self._muted = False
        graph = torch.cuda.CUDAGraph
        replace(
            [
                Replacement(JITFunction, "run", self._observed_run(JITFunction.run)),
                Replacement(CompiledKernel, "__getitem__", self._observed_getitem(CompiledKernel.__getitem__)),
                Replacement(Autotuner, "prune_configs", self._bounded_choice(Autotuner.prune_configs)),
                Replacement(graph, "capture_begin", self._observed_capture_begin(graph.capture_begin)),
                Replacement(graph, "capture_end", self._observed_capture_end(graph.capture_end)),
                Replacement(graph, "replay", self._observed_replay(graph.replay)),
            ]
        )

    def _observed_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(kernel: Any, /, *args: Any, **kwargs: Any) -> Any:
            arguments = (*args, *kwargs.values())
            if callable(grid := kwargs.get("grid")):
                kwargs["grid"] = self._observed_grid(kernel, grid, arguments)
            elif grid is not None and not kwargs.get("warmup"):
                self._note_grid(kernel, grid)
            self.observer.before_launch(arguments)
            try:
                compiled = original(kernel, *args, **kwargs | ({"warmup": True} if self._muted else {}))
            except Exception as error:
                error.__dict__.setdefault("tilesmith_launched", kernel)
                raise
            finally:
                self.observer.after_launch(arguments)
            if self._muted:
                _build_launcher(compiled)
            elif not kwargs.get("warmup"):
                self._note_launch(_GpuLaunch(kernel.fn.__name__, compiled))
            return compiled

        return run

    def _note_grid(self, kernel: Any, grid: Any) -> None:
        with suppress(TypeError, ValueError):  # for Triton to complain about
            self.grids.add(f"{kernel.fn.__name__} on a grid of {tuple(map(int, grid))}")

    def _observed_grid(
        self, kernel: Any, grid: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Callable[..., Any]:
        """The size of a grid is computed by host code like any other: what torch does there is not the kernel's."""

        def observed_grid(meta: Any) -> Any:
            self.observer.after_launch(())
            try:
                chosen = grid(meta)
                self._note_grid(kernel, chosen)
                return chosen
            finally:
                self.observer.before_launch(arguments)

        return observed_grid

    def _bounded_choice(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Of too many configs, some from everywhere in the list."""

        def prune_configs(tuner: Any, /, *args: Any, **kwargs: Any) -> list[Any]:
            configs = list(original(tuner, *args, **kwargs))
            self.autotuned = max(self.autotuned, len(configs))
            if len(configs) <= MOST_CONFIGS:
                return configs
            return [configs[i * len(configs) // MOST_CONFIGS] for i in range(MOST_CONFIGS)]

        return prune_configs

    def _observed_getitem(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`kernel = fn.warmup(...); kernel[grid](...)` launches without JITFunction.run."""

        def launcher(compiled: Any, grid: Any) -> Any:
            launch = original(compiled, grid)

            def run(*args: Any, **kwargs: Any) -> Any:
                self._note_launch(_GpuLaunch(_name(compiled), compiled))
                self.observer.before_launch((*args, *kwargs.values()))
                try:
                    return None if self._muted else launch(*args, **kwargs)
                finally:
                    self.observer.after_launch((*args, *kwargs.values()))

            return run

        return launcher

    def _note_launch(self, launch: _GpuLaunch) -> None:
        self.names.append(launch.name)
        if launch.compiled is not None:
            self._compiled[id(launch.compiled)] = launch.compiled
        if self._captured is not None:
            self._captured.append(launch)

    def _observed_capture_begin(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> None:
            self._captured = []
            original(graph, *args, **kwargs)

        return capture_begin

    def _observed_capture_end(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def capture_end(graph: Any) -> None:
            self._in_graphs[graph], self._captured = self._captured or [], None
            original(graph)

        return capture_end

    def _observed_replay(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A replay launches what was captured."""

        def replay(graph: Any) -> None:
            for launch in self._in_graphs.get(graph) or [_GpuLaunch("CUDA graph", None)]:
                self._note_launch(launch)
            original(graph)
            self.observer.after_replay()

        return replay

    def begin_call(self, settings: CallSettings) -> None:
        """What autotuning tried before is not part of it; a GPU leaves nothing to be set."""
        self.names.clear()
        self.grids.clear()
        self._compiled.clear()

    def launched(self) -> list[str]:
        return list(self.names)

    def described_launches(self) -> None:
        return None

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Launches compile but do not start; autotuners, which would time nothing, compile every config."""
        self._muted = True
        try:
            with replaced([Replacement(Autotuner, "run", _compile_configs)]):
                yield
        finally:
            self._muted = False

    def simulated_gpu(self) -> AbstractContextManager[None]:
        """The GPU is there."""
        return nullcontext()

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def resources(self, target: str) -> list[KernelResources]:
        return [_resources(compiled, target) for compiled in self._compiled.values()]

    def kernel_names(self) -> set[str]:
        return set(self.names) | {_name(compiled) for compiled in self._compiled.values()}


def _build_launcher(compiled: Any) -> None:
    """Some releases of Triton compile C code before a kernel's first launch, which would keep the GPU waiting: here
    it is done ahead, and found in the cache then."""
    with suppress(Exception):  # what is wrong is judged when it is launched
        active_driver().launcher_cls(compiled.src, compiled.metadata)


def _compile_configs(tuner: Any, /, *args: Any, **kwargs: Any) -> None:
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    try:
        configs = tuner.configs if len(tuner.configs) == 1 else tuner.prune_configs(kwargs)
        tuner.best_config = configs[0]
        for config in configs:
            with suppress(Exception):
                if config.pre_hook is not None:
                    config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
                tuner.fn.run(*args, **kwargs, **config.all_kwargs())
    finally:
        tuner.nargs = None  # triton keeps the tuner, which would keep these tensors


class Span(NamedTuple):
    """When something ran on the GPU, in microseconds, and its name."""

    start: float
    end: float
    name: str


@dataclass(frozen=True)
class ProfiledCall:
    """What the profiler saw of one call."""

    share: float | None
    """Of the device's time, that spent in the candidate's own kernels; null where the profiler failed."""
    unjoined: tuple[str, ...] = ()
    """Kernels that ran beside the caller's stream: before what came before the call, or after what came after."""


def profile_call(call: Callable[[], Any], kernel_names: set[str]) -> ProfiledCall:
    """One call between two sleeps of the GPU on the caller's stream. All its work must lie between them."""
    spans = _profiled([call])
    if spans is None:
        return ProfiledCall(None)  # the call itself was judged before
    sleeps = [span for span in spans if _SLEEP_KERNEL in span.name]
    work = [span for span in spans if _SLEEP_KERNEL not in span.name]
    total = sum(span.end - span.start for span in work)
    own = sum(span.end - span.start for span in work if span.name in kernel_names)
    stray = _outside(work, sleeps[0].end, sleeps[-1].start) if len(sleeps) > 1 else ()
    return ProfiledCall(min(own / total, 1.0) if total else None, stray)


def profile_calls(calls: Sequence[Callable[[], Any]], prepare: Callable[[int], None]) -> list[list[Span]]:
    """What ran on the GPU in each call, before which `prepare` is called; nothing where the profiler failed."""
    return split_at_sleeps(_profiled(calls, prepare) or [])


def split_at_sleeps(spans: Sequence[Span]) -> list[list[Span]]:
    """What lies between the first sleep and the second, between the third and the fourth, and so on."""
    found: list[list[Span]] = []
    is_inside = False
    for span in spans:
        if _SLEEP_KERNEL in span.name:
            is_inside = not is_inside
            found += [[]] if is_inside else []
        elif is_inside:
            found[-1].append(span)
    return found


def _profiled(
    calls: Sequence[Callable[[], Any]], prepare: Callable[[int], None] = lambda _: None
) -> list[Span] | None:
    """All that ran on the GPU, each call between two sleeps, in the order of its start; None where the profiler has
    trouble of its own."""
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for number, call in enumerate(calls):
                prepare(number)
                sleep_on_gpu(_LONG_SLEEP_CYCLES)
                call()
                sleep_on_gpu(1)
            torch.cuda.synchronize()
    except RuntimeError:
        return None
    on_gpu = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return sorted(Span(float(one.time_range.start), float(one.time_range.end), str(one.name)) for one in on_gpu)


def _outside(work: Sequence[Span], begin: float, end: float) -> tuple[str, ...]:
    first, last = begin - _CLOCK_GRAIN_US, end + _CLOCK_GRAIN_US
    return tuple(span.name[:80] for span in work if span.start < first or span.end > last)


def _resources(compiled: Any, target: str) -> KernelResources:
    metadata = compiled.metadata
    assembly = str(getattr(compiled, "asm", {}).get("ptx", ""))
    spills = getattr(compiled, "n_spills", None)
    return KernelResources(
        kernel=_name(compiled),
        target=target,
        registers=getattr(compiled, "n_regs", None),
        spills=None if spills is None else spills * 4,
        shared_bytes=getattr(metadata, "shared", None),
        tensor_core=any(mark in assembly for mark in _TENSOR_CORE_PTX) if assembly else None,
        num_warps=getattr(metadata, "num_warps", None),
        num_stages=getattr(metadata, "num_stages", None),
    )


def _name(compiled: Any) -> str:
    return str(getattr(compiled.metadata, "name", compiled.name))
