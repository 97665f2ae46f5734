"""What the three launch engines share. The interpreter's and the GPU's are used by every check of the suite."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilesmith.worker.compile import target_named
from tilesmith.worker.engines.engine import CallSettings, LaunchEngine, NoObserver, observed
from tilesmith.worker.engines.gpu import GpuEngine
from tilesmith.worker.engines.interpreter.interpreter import InterpreterEngine
from tilesmith.worker.engines.recorder import RecorderEngine

ENGINES: tuple[type[LaunchEngine], ...] = (GpuEngine, InterpreterEngine, RecorderEngine)
MEMBERS = [name for name in vars(LaunchEngine) if not name.startswith("_")]


class Counting(NoObserver):
    launches = 0

    def before_launch(self, arguments: Iterable[Any]) -> None:
        self.launches += 1


def test_every_engine_has_every_member() -> None:
    assert "begin_call" in MEMBERS
    assert [(engine, name) for engine in ENGINES for name in MEMBERS if not hasattr(engine, name)] == []


def test_an_observer_sees_launches_until_the_block_ends() -> None:
    engine: LaunchEngine = RecorderEngine(target_named("sm_90"), all_configs=False)
    usual, counting = engine.observer, Counting()
    with observed(engine, counting):
        engine.observer.before_launch([])
    engine.observer.before_launch([])
    assert (counting.launches, engine.observer) == (1, usual)


def test_a_new_call_forgets_the_last() -> None:
    engine = RecorderEngine(target_named("sm_90"), all_configs=False)
    engine.begin_call(CallSettings())
    assert (engine.launched(), engine.described_launches()) == ([], [])
