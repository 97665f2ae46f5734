"""The GPU engine's bookkeeping, as far as it needs no GPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from triton import Config

from tilesmith.process.protocol.candidate import MOST_CONFIGS
from tilesmith.worker.compat.triton_names import driver_replaced
from tilesmith.worker.engines.gpu import GpuEngine, Span, _compile_configs, split_at_sleeps


class Observer:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def before_launch(self, arguments: Any) -> None:
        self.seen.append("before")

    def after_launch(self, arguments: Any) -> None:
        self.seen.append("after")

    def after_replay(self) -> None:
        self.seen.append("replay")


def bare_engine() -> GpuEngine:
    """Without the replacements that would reach the whole process."""
    engine = GpuEngine.__new__(GpuEngine)
    engine.names, engine.grids, engine.autotuned, engine._compiled, engine._muted = [], set(), 0, {}, False
    engine._captured, engine._in_graphs = None, WeakKeyDictionary()
    return engine


def kernel_body() -> None:
    """What is launched."""


class Kernel:
    fn = staticmethod(kernel_body)


def test_host_code_of_a_grid_is_observed_like_any_other() -> None:
    engine, observer = bare_engine(), Observer()
    engine.observer = observer

    def grid(meta: Any) -> tuple[int]:
        observer.seen.append("grid")
        return (1,)

    def launch(kernel: Any, *args: Any, **kwargs: Any) -> None:
        assert kwargs["grid"]({}) == (1,)
        observer.seen.append("launch")

    engine._observed_run(launch)(Kernel(), 1, grid=grid)
    assert observer.seen == ["before", "after", "grid", "before", "launch", "after"]
    assert engine.names == ["kernel_body"]
    assert engine.grids == {"kernel_body on a grid of (1,)"}
    engine._observed_run(lambda *_, **__: None)(Kernel(), 1, grid=(7,), warmup=True)
    engine._observed_run(lambda *_, **__: None)(Kernel(), 1, grid=(2, 3))
    assert engine.grids == {"kernel_body on a grid of (1,)", "kernel_body on a grid of (2, 3)"}


def test_a_replay_launches_what_was_captured() -> None:
    engine = bare_engine()
    engine.observer = Observer()
    compiled, graph, other = SimpleNamespace(), type("Graph", (), {})(), type("Graph", (), {})()
    launch = engine._observed_run(lambda *_, **__: compiled)
    launch(Kernel(), 1, grid=(1,))
    engine._observed_capture_begin(lambda *_, **__: None)(graph, pool=None)
    launch(Kernel(), 1, grid=(1,))
    launch(Kernel(), 1, grid=(1,))
    engine._observed_capture_end(lambda _: None)(graph)
    launch(Kernel(), 1, grid=(1,))
    engine.names.clear()
    engine._compiled.clear()
    replay = engine._observed_replay(lambda _: None)
    replay(graph)
    assert engine.names == ["kernel_body"] * 2
    assert [*engine._compiled.values()] == [compiled]
    replay(other)
    assert engine.names[2:] == ["CUDA graph"]


def test_what_a_launch_needs_beside_the_kernel_is_built_while_launches_are_muted() -> None:
    built: list[Any] = []
    compiled = SimpleNamespace(src="source", metadata="metadata")
    driver = SimpleNamespace(launcher_cls=lambda *given: built.append(given))
    engine = bare_engine()
    engine.observer, engine._muted = Observer(), True
    with driver_replaced(driver):
        engine._observed_run(lambda *_, **__: compiled)(Kernel(), 1, grid=(1,))
    assert built == [("source", "metadata")]
    assert not engine.names


def test_of_too_many_configs_some_from_everywhere_are_tried() -> None:
    engine = bare_engine()
    few, many = (engine._bounded_choice(lambda *_, n=n: range(n))(None) for n in (5, 96))
    assert few == [0, 1, 2, 3, 4]
    assert (len(many), many[0], many[-1] > 90) == (MOST_CONFIGS, 0, True)
    assert engine.autotuned == 96


class Tuner:
    """Two configs, the second of which does not compile."""

    arg_names: ClassVar = ["x", "n"]
    nargs: dict[str, Any] | None = None
    best_config: Config | None = None

    def __init__(self, hooked: list[Any]) -> None:
        self.tried: list[int] = []
        self.configs = [Config({"BLOCK": block}, pre_hook=hooked.append) for block in (16, 32)]
        self.fn = self

    def prune_configs(self, kwargs: dict[str, Any]) -> list[Any]:
        assert self.nargs is not None
        return self.configs

    def run(self, *args: Any, **kwargs: Any) -> None:
        self.tried.append(kwargs["BLOCK"])
        if kwargs["BLOCK"] == 32:
            raise RuntimeError("out of shared memory")


def test_every_config_is_compiled_and_no_tensor_is_kept() -> None:
    hooked: list[Any] = []
    tuner = Tuner(hooked)
    _compile_configs(tuner, "tensor", 3, grid=(1,))
    assert tuner.tried == [16, 32]
    assert tuner.nargs is None
    assert tuner.best_config is tuner.configs[0]
    assert [(one["x"], one["n"], one["BLOCK"]) for one in hooked] == [("tensor", 3, 16), ("tensor", 3, 32)]


def test_calls_are_told_apart_by_the_sleeps_around_them() -> None:
    ran = [
        "fill",
        "spin_kernel",
        "a",
        "b",
        "spin_kernel",
        "fill",
        "spin_kernel(long)",
        "a",
        "spin_kernel(long)",
        "end",
    ]
    spans = [Span(float(time), time + 0.5, name) for time, name in enumerate(ran)]
    assert [[span.name for span in call] for call in split_at_sleeps(spans)] == [["a", "b"], ["a"]]
