"""The interpreter as its caller sees it: what it does, and what it has seen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import triton.runtime.interpreter as triton_interpreter

from tilesmith.worker.candidate.launch_fingerprint import arguments_in_words
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.arguments import Grid
from tilesmith.worker.engines.interpreter.autotuning import bind_autotuner
from tilesmith.worker.engines.interpreter.launch import interpretable, run_kernel
from tilesmith.worker.engines.interpreter.operations import number_formats
from tilesmith.worker.engines.interpreter.operations.builder import HardenedBuilder, HardenedSemantic
from tilesmith.worker.engines.interpreter.operations.handles import Handle
from tilesmith.worker.engines.interpreter.operations.language import bind_language
from tilesmith.worker.engines.interpreter.warmed_kernel import WarmedKernel


@dataclass(frozen=True)
class InterpretedLaunch:
    """One kernel launch that took place; `line` is where the kernel's definition starts."""

    kernel: str
    grid: Grid
    line: int | None
    arguments: dict[str, str] | None = None
    """In words, where launches are muted and nothing else is known of them."""


class Interpreter:
    """Settings for the launches to come, and a list of those that were."""

    def __init__(self, builder: HardenedBuilder, seed: int) -> None:
        self.launches: list[InterpretedLaunch] = []
        self.deadline: float | None = None
        self.find_races = True
        self.autotune_choice = 0
        self.autotuned = 0
        self.rehearse_autotune = True
        self.is_muted = False
        self.before_launch: Callable[[Iterable[Any]], None] = lambda _: None
        self.after_launch: Callable[[Iterable[Any]], None] = lambda _: None
        """They see the arguments of every launch; a replayed graph launches like any other code."""
        self.after_replay: Callable[[], None] = lambda: None
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

    def forget(self) -> None:
        """Empty the list of launches."""
        self.launches.clear()

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


_installed: Interpreter | None = None


def install(seed: int = 0) -> Interpreter:
    """Harden Triton's interpreter in this process; needs TRITON_INTERPRET=1 before triton was imported."""
    global _installed
    if _installed is not None:
        _installed.reschedule(seed)
        return _installed
    builder = HardenedBuilder()
    semantic = HardenedSemantic(builder)
    interpreter = Interpreter(builder, seed)
    _patch_runtime(interpreter, builder, semantic)
    state.set_semantic(semantic)
    bind_language(semantic)
    bind_autotuner(interpreter)
    _installed = interpreter
    return interpreter


def _patch_runtime(interpreter: Interpreter, builder: HardenedBuilder, semantic: HardenedSemantic) -> None:
    runtime: Any = triton_interpreter
    runtime.TensorHandle = Handle
    runtime._get_np_dtype = number_formats.numpy_dtype
    runtime.interpreter_builder = builder
    runtime.interpreter_semantic = semantic
    _keep_origin(runtime)
    function = runtime.InterpretedFunction
    function.run = lambda self, *args, grid, warmup=False, **kwargs: (
        _warmed(interpreter, self, kwargs) if warmup else run_kernel(interpreter, self, args, kwargs, grid)
    )
    function.__call__ = lambda self, *args, **kwargs: interpretable(self.fn)(*args, **kwargs)
    function.rewrite = lambda self: interpretable(self.fn)


def _warmed(interpreter: Interpreter, kernel: Any, kwargs: dict[str, Any]) -> WarmedKernel:
    """Positional arguments of a later launch include the constexprs, as on a GPU."""
    options = {name: value for name, value in kwargs.items() if name.startswith("num_")}

    def run(args: Any, kwargs: Any, grid: Any) -> None:
        run_kernel(interpreter, kernel, args, kwargs, grid)

    return WarmedKernel(kernel.fn.__name__, run, options)


def _keep_origin(runtime: Any) -> None:
    """Descriptors and block pointers compute addresses themselves; tell those where they came from."""
    for name in ("TensorDescHandle", "BlockPointerHandle"):
        handle = getattr(runtime, name, None)
        if handle is not None:
            handle.materialize_pointers = _with_origin(handle.materialize_pointers)


def _with_origin(materialize: Any) -> Any:
    def pointers_and_mask(self: Any, *args: Any) -> Any:
        pointers, mask = materialize(self, *args)
        pointers.origin = self.base.origin
        return pointers, mask

    return pointers_and_mask
