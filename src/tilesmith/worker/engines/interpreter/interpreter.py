"""The interpreter as its caller sees it: what it does, and what it has seen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tilesmith.worker.candidate.launch_fingerprint import arguments_in_words
from tilesmith.worker.compat.interpreter_names import (
    ADDRESSING_HANDLES,
    BUILDER,
    NUMPY_DTYPE,
    SEMANTIC,
    TENSOR_HANDLE,
    InterpretedFunction,
)
from tilesmith.worker.compat.patches import Replacement, replace
from tilesmith.worker.engines.engine import CallSettings, LaunchObserver, NoObserver
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.arguments import Grid
from tilesmith.worker.engines.interpreter.autotuning import bind_autotuner
from tilesmith.worker.engines.interpreter.launch import interpretable, run_kernel
from tilesmith.worker.engines.interpreter.operations import number_formats
from tilesmith.worker.engines.interpreter.operations.builder import HardenedBuilder, HardenedSemantic
from tilesmith.worker.engines.interpreter.operations.handles import Handle
from tilesmith.worker.engines.interpreter.operations.language import bind_language
from tilesmith.worker.engines.interpreter.warmed_kernel import WarmedKernel
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda


@dataclass(frozen=True)
class InterpretedLaunch:
    """One kernel launch that took place; `line` is where the kernel's definition starts."""

    kernel: str
    grid: Grid
    line: int | None
    arguments: dict[str, str] | None = None
    """In words, where launches are muted and nothing else is known of them."""


class InterpreterEngine:
    """Settings for the launches to come, and a list of those that were."""

    def __init__(self, builder: HardenedBuilder, seed: int) -> None:
        self.launches: list[InterpretedLaunch] = []
        self.deadline: float | None = None
        """Moved on while programs come to their ends, up to `last_moment`."""
        self.patience_s = 0.0
        self.last_moment = 0.0
        self.reached = (1, 0)
        """The launch, and how many of its programs had come to their ends, when it was last moved on."""
        self.find_races = True
        self.autotune_choice = 0
        self.autotuned = 0
        self.grids: set[str] = set()
        self.rehearse_autotune = True
        self.is_muted = False
        self.repeats_programs = True
        """Whether programs repeat the operations of a recorded one."""
        self.observer: LaunchObserver = NoObserver()
        """A replayed graph launches like any other code."""
        self._builder = builder
        self._seed = seed
        self._orders_drawn = 0
        self._recording = True

    @property
    def emulate_tf32(self) -> bool:
        """Whether float32 tl.dot loses bits as it does on tensor cores by default."""
        return self._builder.emulate_tf32

    @emulate_tf32.setter
    def emulate_tf32(self, emulate: bool) -> None:
        self._builder.emulate_tf32 = emulate

    def reschedule(self, seed: int) -> None:
        """Run the programs of later launches in another random order; 0 is the natural one."""
        self._seed = seed
        self._orders_drawn = 0

    def begin_call(self, settings: CallSettings) -> None:
        self.launches.clear()
        self.reschedule(settings.schedule)
        self.autotune_choice = settings.autotune_choice
        self.patience_s, self.reached = settings.limit_s or 0.0, (1, 0)
        now = time.monotonic()
        self.last_moment = now + (settings.longest_s or self.patience_s)
        self.deadline = min(now + self.patience_s, self.last_moment) if settings.limit_s else None

    def launched(self) -> list[str]:
        return [launch.kernel for launch in self.launches]

    def described_launches(self) -> list[InterpretedLaunch]:
        """Their arguments are known only where launches are muted."""
        return self.launches

    def simulated_gpu(self) -> AbstractContextManager[None]:
        return pretend_cuda()

    def synchronize(self) -> None:
        """Launches are complete when they return."""

    def next_order(self) -> int:
        """The seed of one launch: every launch its own order, and the whole sequence repeatable."""
        self._orders_drawn += 1
        return self._seed * 1_000_003 + self._orders_drawn if self._seed else 0

    def record(self, function: Any, grid: Grid, bound: dict[str, Any]) -> None:
        """Note a launch."""
        if self._recording:
            line = function.__code__.co_firstlineno
            words = arguments_in_words(function, bound) if self.is_muted else None
            self.launches.append(InterpretedLaunch(function.__name__, grid, line, words))

    @contextlib.contextmanager
    def muted(self) -> Iterator[None]:
        """Launches are recorded but do nothing."""
        self.is_muted = True
        try:
            yield
        finally:
            self.is_muted = False

    @contextlib.contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Launches that autotuning makes on its own account are not the candidate's."""
        self._recording = False
        try:
            yield
        finally:
            self._recording = True


_installed: InterpreterEngine | None = None


def install(seed: int = 0) -> InterpreterEngine:
    """Harden Triton's interpreter in this process; needs TRITON_INTERPRET=1 before triton was imported."""
    global _installed
    if _installed is not None:
        _installed.reschedule(seed)
        return _installed
    builder = HardenedBuilder()
    semantic = HardenedSemantic(builder)
    interpreter = InterpreterEngine(builder, seed)
    _replace_runtime(interpreter, builder, semantic)
    state.set_semantic(semantic)
    bind_language(semantic)
    bind_autotuner(interpreter)
    _installed = interpreter
    return interpreter


def _replace_runtime(interpreter: InterpreterEngine, builder: HardenedBuilder, semantic: HardenedSemantic) -> None:
    def run(kernel: Any, /, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            return _warmed(interpreter, kernel, kwargs)
        return run_kernel(interpreter, kernel, args, kwargs, grid)

    def call(kernel: Any, /, *args: Any, **kwargs: Any) -> Any:
        return interpretable(kernel.fn)(*args, **kwargs)

    replace(
        [
            Replacement(*TENSOR_HANDLE, Handle),
            Replacement(*NUMPY_DTYPE, number_formats.numpy_dtype),
            Replacement(*BUILDER, builder),
            Replacement(*SEMANTIC, semantic),
            Replacement(InterpretedFunction, "run", run),
            Replacement(InterpretedFunction, "__call__", call),
            Replacement(InterpretedFunction, "rewrite", lambda kernel: interpretable(kernel.fn)),
            *(
                Replacement(handle, "materialize_pointers", _with_origin(vars(handle)["materialize_pointers"]))
                for handle in ADDRESSING_HANDLES
            ),
        ]
    )


def _warmed(interpreter: InterpreterEngine, kernel: Any, kwargs: dict[str, Any]) -> WarmedKernel:
    """Positional arguments of a later launch include the constexprs, as on a GPU."""
    options = {name: value for name, value in kwargs.items() if name.startswith("num_")}

    def run(args: Any, kwargs: Any, grid: Any) -> None:
        run_kernel(interpreter, kernel, args, kwargs, grid)

    return WarmedKernel(kernel.fn.__name__, run, options)


def _with_origin(materialize: Any) -> Any:
    """Descriptors and block pointers compute addresses themselves; tell those where they came from."""

    def pointers_and_mask(self: Any, *args: Any) -> Any:
        pointers, mask = materialize(self, *args)
        pointers.origin = self.base.origin
        return pointers, mask

    return pointers_and_mask
