"""Run host code with every kernel launch noted instead of executed.

Outputs keep whatever memory held before, so only the launches may be believed, not values.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from tilesmith.worker.candidate.launch_fingerprint import arguments_in_words
from tilesmith.worker.compat.patches import Replacement, replaced
from tilesmith.worker.compat.triton_names import Autotuner, JITFunction
from tilesmith.worker.compile.binding import ArgumentBinder
from tilesmith.worker.compile.jit_functions import def_line
from tilesmith.worker.compile.recorded_launch import RecordedLaunch
from tilesmith.worker.compile.targets import Target, target_named
from tilesmith.worker.engines.engine import CallSettings, LaunchObserver, NoObserver
from tilesmith.worker.fake_cuda.driver import fake_driver
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda

CUDA_GRID_LIMITS = (2**31 - 1, 65535, 65535)


class RecordedKernel:
    """Returned where triton returns a CompiledKernel: plausible numbers for occupancy arithmetic."""

    def __init__(self, recorder: RecorderEngine, launch: RecordedLaunch) -> None:
        self._recorder = recorder
        self._launch = launch
        self.name = launch.kernel
        self.n_regs = 32
        self.n_spills = 0
        self.n_max_threads = 1024
        self.function = self.module = self.hash = 1
        defaults = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "shared": 1024, "name": launch.kernel}
        self.metadata = SimpleNamespace(**{**defaults, **launch.options})
        self.asm: dict[str, str] = defaultdict(str)

    def _init_handles(self) -> None:
        """Tutorials call it before they read n_regs."""

    def run(self, grid_0: int, grid_1: int = 1, grid_2: int = 1, *_: Any, **__: Any) -> None:
        self._recorder.note(self._launch, (grid_0, grid_1, grid_2))

    def __getitem__(self, grid: Any) -> Any:
        return lambda *_, **__: self._recorder.note(self._launch, grid)


class RecorderEngine:
    """Takes the place of JITFunction.run and Autotuner.run."""

    def __init__(self, target: Target, all_configs: bool) -> None:
        self.launches: list[RecordedLaunch] = []
        self.observer: LaunchObserver = NoObserver()
        """Never asked: no launch takes place."""
        self.autotuned = 0
        self.grids: set[str] = set()
        self._target = target
        self._all_configs = all_configs
        self._binders: dict[int, tuple[Any, ArgumentBinder]] = {}
        self._autotuned_calls = itertools.count()
        self._current_call: int | None = None

    def begin_call(self, settings: CallSettings) -> None:
        self.launches.clear()

    def launched(self) -> list[str]:
        return [launch.kernel for launch in self.launches]

    def described_launches(self) -> list[RecordedLaunch]:
        return self.launches

    def muted(self) -> AbstractContextManager[None]:
        return nullcontext()

    def simulated_gpu(self) -> AbstractContextManager[None]:
        return pretend_cuda()

    def synchronize(self) -> None:
        """Nothing was started."""

    def run(self, fn: Any, /, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> RecordedKernel:
        for hook in getattr(fn, "pre_run_hooks", ()):
            hook(*args, **kwargs)
        bound, signature, constexprs, attrs = self._binder(fn)(args, kwargs)
        names = {param.name for param in fn.params}
        options = {k: v for k, v in kwargs.items() if k not in names and v is not None}
        if fn.debug and "debug" not in options:
            options["debug"] = True
        launch = RecordedLaunch(
            kernel=fn.__name__,
            fn=fn,
            grid=(0, 0, 0),
            signature=signature,
            constexprs=constexprs,
            attrs=attrs,
            options=options,
            line=def_line(fn),
            autotuned_call=self._current_call,
        )
        if not warmup:
            told = replace(launch, arguments=arguments_in_words(fn.fn, bound))
            launch = self.note(told, grid(bound) if callable(grid) else grid)
        return RecordedKernel(self, launch)

    def run_autotuned(self, tuner: Any, /, *args: Any, **kwargs: Any) -> Any:
        """No timing: the first config that survives pruning, or all of them for inspection."""
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        configs = tuner.configs if len(tuner.configs) == 1 else tuner.prune_configs(kwargs)
        if not configs:
            raise RuntimeError("autotune: early_config_prune left no config")
        tuner.best_config = configs[0]
        outer, self._current_call = self._current_call, next(self._autotuned_calls)
        try:
            chosen = configs if self._all_configs else configs[:1]
            kernels = [self._run_config(tuner, config, args, kwargs) for config in chosen]
        finally:
            self._current_call = outer
            tuner.nargs = None
        return kernels[0]

    def _run_config(self, tuner: Any, config: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        conflicts = sorted(kwargs.keys() & config.kwargs.keys())
        if conflicts:
            raise ValueError(
                f"Conflicting meta-parameters: {', '.join(conflicts)}."
                " Make sure that you don't re-define auto-tuned symbols."
            )
        if config.pre_hook is not None:
            config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
        return tuner.fn.run(*args, **kwargs, **config.all_kwargs())

    def note(self, launch: RecordedLaunch, grid: Any) -> RecordedLaunch:
        """Add the launch on this grid to the record."""
        placed = replace(launch, grid=self._canonical(grid))
        self.launches.append(placed)
        return placed

    def _canonical(self, grid: Any) -> tuple[int, int, int]:
        sizes = [operator.index(size) for size in (*grid, 1, 1)[:3]]
        if self._target.backend == "cuda":
            for axis, size, limit in zip("xyz", sizes, CUDA_GRID_LIMITS, strict=True):
                if size > limit:
                    raise RuntimeError(
                        f"Triton Error [CUDA]: invalid argument: grid {axis} is {size}, the limit is {limit}"
                    )
        return (sizes[0], sizes[1], sizes[2])

    def _binder(self, fn: Any) -> ArgumentBinder:
        """Kept with its function, so that the id stays taken while we rely on it."""
        if id(fn) not in self._binders:
            self._binders[id(fn)] = (fn, ArgumentBinder(fn))
        return self._binders[id(fn)][1]


@contextmanager
def recording(all_configs: bool = False, target: str = "sm_90") -> Iterator[list[RecordedLaunch]]:
    """Yields the list that fills with launches. Alignment hints are those of `target`'s vendor."""
    recorder = RecorderEngine(target_named(target), all_configs)

    def run(kernel: Any, /, *args: Any, **kwargs: Any) -> Any:
        return recorder.run(kernel, *args, **kwargs)

    def run_autotuned(tuner: Any, /, *args: Any, **kwargs: Any) -> Any:
        return recorder.run_autotuned(tuner, *args, **kwargs)

    replacements = [Replacement(JITFunction, "run", run), Replacement(Autotuner, "run", run_autotuned)]
    with fake_driver(target), replaced(replacements):
        yield recorder.launches
