"""The judges of a cluster as the driver sees them: one for each GPU, and where each stands.

Ray starts, reaches, restarts and ends them, and says which nodes there are. What is decided here is that every node
gets as many judges as it has GPUs, and which of them a job asks.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import ActorUnschedulableError, RayError, TaskUnschedulableError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tilesmith.errors import MachineError
from tilesmith.suite.allowance import Allowance
from tilesmith.suite.cluster.judge_actor import JudgeActor, MakeEvaluators
from tilesmith.suite.cluster.nodes import ClusterNode, alive_nodes, ask_software, installed_software, last_line

_LOOK_S = 1.0
_START_S, _NO_JUDGE_S = 60.0, 120.0
"""How long nodes may take to say what is installed there, and how long a suite waits once all judges are lost."""
_CLOSE_S = 10.0
_CALLS_AFTER_CRASH = 2


@dataclass(frozen=True)
class WantedJudges:
    """Which judges a suite needs."""

    device: str
    """cuda or cpu."""
    gpu_kind: str | None
    """Part of the name of the GPUs that may be used; null is any."""
    slots: Callable[[int, int], int]
    """How many jobs at once a machine of so many GPUs and cores takes."""
    make_evaluators: MakeEvaluators


@dataclass(eq=False)
class PlacedJudge:
    """A judge on a node, and how many jobs ask it."""

    node: ClusterNode
    actor: Any
    started: Any
    """Comes true once the judge runs."""
    slots: int
    users: int = 0
    is_ready: bool = False


@dataclass
class ClusterJudges:
    """All judges; asked from many threads. Nodes that join get theirs while jobs wait for one."""

    wanted: WantedJudges
    notify: Callable[[str], None]
    _judges: list[PlacedJudge] = field(default_factory=list)
    _nodes: dict[str, ClusterNode] = field(default_factory=dict)
    """Whose software is right, by their id."""
    _asked: dict[Any, ClusterNode] = field(default_factory=dict)
    """Nodes that have not said yet what is installed there."""
    _seen: set[str] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _looked_at: float = 0.0
    _ready_at: float = field(default_factory=time.monotonic)
    _told: set[str] = field(default_factory=set)

    def require_nodes(self) -> None:
        """Waits for the first judge. Raises MachineError in one line where no node can have one; a node that cannot
        is left out, with a line that says why."""
        nodes = alive_nodes()
        if not any(self._fits(node) for node in nodes):
            if self.wanted.device == "cpu":
                raise MachineError("the Ray cluster has no node with a CPU for its tasks")
            kinds = sorted({node.kind or "of an unknown kind" for node in nodes if node.gpus})
            if not kinds:
                raise MachineError("the Ray cluster has no GPU: add nodes with one, or judge with --device cpu")
            raise MachineError(f"--gpu-kind {self.wanted.gpu_kind}: the Ray cluster has only {', '.join(kinds)}")
        began = time.monotonic()
        with self._changed:
            while not any(one.is_ready for one in self._judges) and time.monotonic() - began < _START_S:
                self._look()
                if self._told and not self._judges and not self._asked:
                    raise MachineError(" ".join(sorted(self._told)))
                if not self._judges and not self._asked:
                    time.sleep(_LOOK_S)
                ray.wait([*self._asked, *(one.started for one in self._judges)], timeout=_LOOK_S)

    def acquire(self, allowance: Allowance, kind: str | None = None) -> PlacedJudge:
        """The judge with the fewest jobs, as soon as one takes another; of that kind of GPU, if there is one
        and it is not null. Raises SuiteStopped once the suite is to end, and ends it where no judge is left."""
        with self._changed:
            while True:
                allowance.require_more()
                if time.monotonic() - self._looked_at >= _LOOK_S:
                    self._look()
                ready = [one for one in self._judges if one.is_ready]
                alike = [one for one in ready if kind in (None, one.node.kind)] or ready
                free = [one for one in alike if one.users < one.slots]
                if free:
                    judge = min(free, key=lambda one: one.users)
                    judge.users += 1
                    return judge
                if not ready:
                    self._wait_for_judges(allowance)
                self._changed.wait(_LOOK_S)

    def release(self, judge: PlacedJudge) -> None:
        with self._changed:
            judge.users -= 1
            self._changed.notify_all()

    def give_up(self, judge: PlacedJudge, error: Exception) -> None:
        """It does not answer, although Ray tried again: nobody gets it any more."""
        with self._changed:
            if judge.node.id not in {node.id for node in alive_nodes()}:
                self._drop_node(judge.node)
            elif judge in self._judges:
                self._judges.remove(judge)
                ray.kill(judge.actor)
                self.notify(f"{judge.node.title}: its judge ended, its work is done anew: {last_line(error)}")
            self._looked_at = 0.0

    def _drop_node(self, node: ClusterNode) -> None:
        left = [one for one in self._judges if one.node.id != node.id]
        if len(left) < len(self._judges):
            self.notify(f"{node.title} is lost; what ran there is done elsewhere")
        self._judges = left

    def close(self) -> None:
        """Ends what they do."""
        with self._changed:
            judges, self._judges = self._judges, []
        closing = [one.actor.close.remote() for one in judges if one.is_ready]
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=_CLOSE_S)
        for judge in judges:
            ray.kill(judge.actor)

    def _look(self) -> None:
        """What has changed: nodes that came and went, judges that run now."""
        self._looked_at = time.monotonic()
        alive = {node.id: node for node in alive_nodes() if self._fits(node)}
        for node in alive.values():
            if node.id not in self._seen:
                self._seen.add(node.id)
                self._asked[ask_software(node)] = node
        for asked in ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0)[0] if self._asked else ():
            self._admit(self._asked.pop(asked), asked, alive)
        for judge in [one for one in self._judges if not one.is_ready]:
            self._find_started(judge, alive)
        for node in {one.node for one in self._judges if one.node.id not in alive}:
            self._drop_node(node)
        for node in [node for node in self._nodes.values() if node.id in alive]:
            there = sum(one.node.id == node.id for one in self._judges)
            wanted = node.gpus if self.wanted.device == "cuda" else 1
            self._judges += [self._start(node) for _ in range(wanted - there)]
        if any(one.is_ready for one in self._judges):
            self._ready_at = time.monotonic()
            self._changed.notify_all()

    def _fits(self, node: ClusterNode) -> bool:
        if self.wanted.device == "cpu":
            return node.cores > 0
        return node.gpus > 0 and (self.wanted.gpu_kind or "").lower() in node.kind.lower()

    def _admit(self, node: ClusterNode, asked: Any, alive: dict[str, ClusterNode]) -> None:
        """A node has said what is installed there, or cannot."""
        here = installed_software()
        try:
            there = ray.get(asked)
        except TaskUnschedulableError:  # the node is gone; or it has just come, and is asked again
            self._seen.discard(node.id)
            return
        except RayError as error:
            if node.id in alive:
                self._tell(f"{node.title} is left out: it does not answer: {last_line(error)}.")
            return
        if there == here:
            self._nodes[node.id] = node
        elif there:
            self._tell(f"{node.title} is left out: it has tilesmith {there}, not {here}: install the same on both.")
        else:
            self._tell(f"{node.title} is left out: tilesmith is not installed there: pip install 'tilesmith[ray]'.")

    def _find_started(self, judge: PlacedJudge, alive: dict[str, ClusterNode]) -> None:
        if not ray.wait([judge.started], timeout=0)[0]:
            return
        try:
            judge.is_ready = ray.get(judge.started)
        except RayError as error:
            self._judges.remove(judge)
            if judge.node.id in alive and not isinstance(error, ActorUnschedulableError):
                self._nodes.pop(judge.node.id, None)
                self._tell(f"{judge.node.title} is left out: no judge starts there: {last_line(error)}.")

    def _start(self, node: ClusterNode) -> PlacedJudge:
        is_gpu = self.wanted.device == "cuda"
        share = max(1, node.gpus) if is_gpu else 1
        slots = self.wanted.slots(1 if is_gpu else 0, max(1, node.cores // share))
        actor = (
            ray.remote(JudgeActor)
            .options(
                num_gpus=1 if is_gpu else 0,
                num_cpus=node.cores // share,
                max_concurrency=slots + 1,
                max_restarts=-1,
                max_task_retries=_CALLS_AFTER_CRASH,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
            )
            .remote(self.wanted.device, os.getcwd(), self.wanted.make_evaluators)
        )
        return PlacedJudge(node, actor, actor.is_ready.options(max_task_retries=0).remote(), slots)

    def _wait_for_judges(self, allowance: Allowance) -> None:
        waited_s = time.monotonic() - self._ready_at
        if self._judges and waited_s > _START_S:
            self._tell("Waiting for the cluster: others use its GPUs and cores, or its judges start slowly.")
        elif not self._judges and not self._asked and waited_s > _NO_JUDGE_S:
            allowance.stop(f"the Ray cluster has had no node for judges for {waited_s:.0f} s")

    def _tell(self, line: str) -> None:
        """Once."""
        if line not in self._told:
            self._told.add(line)
            self.notify(line)
