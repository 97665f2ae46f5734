"""On a GPU: every Triton launch of a candidate, and what its compiled kernels use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from triton.compiler import CompiledKernel
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from tilesmith.records import KernelResources

_sleep = torch.cuda._sleep
_SLEEP_KERNEL = "spin_kernel"
_LONG_SLEEP_CYCLES = 4_000_000
"""About 2 ms: Python has queued the whole call by then."""
_CLOCK_GRAIN_US = 2.0
_TENSOR_CORE_PTX = ("wgmma.", "mma.sync", "tcgen05.mma", "v_mfma")


class LaunchLog:
    """Installed once, before the candidate is loaded."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._compiled: dict[int, Any] = {}
        self._dry = False
        self.before_launch: Callable[[Iterable[Any]], None] = lambda _: None
        self.after_launch: Callable[[Iterable[Any]], None] = lambda _: None
        """They see the arguments of every launch."""
        self.after_replay: Callable[[], None] = lambda: None
        original = JITFunction.run
        log = self

        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            log.before_launch((*args, *kwargs.values()))
            try:
                compiled = original(self, *args, **kwargs | ({"warmup": True} if log._dry else {}))
            except Exception as error:
                error.__dict__.setdefault("tilesmith_launched", self)
                raise
            log.after_launch((*args, *kwargs.values()))
            if not kwargs.get("warmup") and not log._dry:
                log.names.append(self.fn.__name__)
                if compiled is not None:
                    log._compiled[id(compiled)] = compiled
            return compiled

        JITFunction.run = run
        self._watch_compiled()
        self._watch_graphs()

    def _watch_compiled(self) -> None:
        """`kernel = fn.warmup(...); kernel[grid](...)` launches without JITFunction.run."""
        original = CompiledKernel.__getitem__
        log = self

        def launcher(self: Any, grid: Any) -> Any:
            launch = original(self, grid)

            def run(*args: Any, **kwargs: Any) -> Any:
                log.names.append(_name(self))
                log._compiled[id(self)] = self
                log.before_launch((*args, *kwargs.values()))
                result = None if log._dry else launch(*args, **kwargs)
                log.after_launch((*args, *kwargs.values()))
                return result

            return run

        CompiledKernel.__getitem__ = launcher

    def _watch_graphs(self) -> None:
        """A replay launches what was captured."""
        original = torch.cuda.CUDAGraph.replay
        log = self

        def replay(self: Any) -> None:
            log.names.append("CUDA graph")
            original(self)
            log.after_replay()

        torch.cuda.CUDAGraph.replay = replay

    @contextmanager
    def compiling_only(self) -> Iterator[None]:
        """Launches compile but do not start; autotuners, which would time nothing, compile every config."""
        tune = Autotuner.run
        self._dry, Autotuner.run = True, _compile_configs
        try:
            yield
        finally:
            self._dry, Autotuner.run = False, tune

    def muted(self) -> AbstractContextManager[None]:
        return self.compiling_only()

    def forget(self) -> None:
        """Start a new call; what autotuning tried before is not part of it."""
        self.names.clear()
        self._compiled.clear()

    def resources(self, target: str) -> list[KernelResources]:
        return [_resources(compiled, target) for compiled in self._compiled.values()]

    def kernel_names(self) -> set[str]:
        return set(self.names) | {_name(compiled) for compiled in self._compiled.values()}


def _compile_configs(tuner: Any, *args: Any, **kwargs: Any) -> None:
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    for config in tuner.prune_configs(kwargs):
        with suppress(Exception):
            tuner.fn.run(*args, **kwargs, **config.all_kwargs())


@dataclass(frozen=True)
class Observation:
    """What the profiler saw of one call."""

    share: float | None
    """Of the device's time, that spent in the candidate's own kernels; null where the profiler failed."""
    unjoined: tuple[str, ...] = ()
    """Kernels that ran beside the caller's stream: before what came before the call, or after what came after."""


def observe(call: Callable[[], Any], kernel_names: set[str]) -> Observation:
    """One call between two sleeps of the GPU on the caller's stream. All its work must lie between them."""
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            _sleep(_LONG_SLEEP_CYCLES)
            call()
            _sleep(1)
            torch.cuda.synchronize()
    except RuntimeError:
        return Observation(None)  # the profiler's own trouble; the call itself was judged before
    spans = [
        (float(event.time_range.start), float(event.time_range.end), str(event.name))
        for event in profiler.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
    ]
    sleeps = sorted(span for span in spans if _SLEEP_KERNEL in span[2])
    work = [span for span in spans if _SLEEP_KERNEL not in span[2]]
    total = sum(end - start for start, end, _ in work)
    own = sum(end - start for start, end, name in work if name in kernel_names)
    stray = _outside(work, sleeps[0][1], sleeps[-1][0]) if len(sleeps) > 1 else ()
    return Observation(min(own / total, 1.0) if total else None, stray)


def _outside(work: list[tuple[float, float, str]], begin: float, end: float) -> tuple[str, ...]:
    return tuple(
        name[:80] for start, stop, name in work if start < begin - _CLOCK_GRAIN_US or stop > end + _CLOCK_GRAIN_US
    )


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
