"""Judges of a cluster without the cluster: which one a job gets, and what a judge refuses on its node."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest
from marked_kernels import TASK
from marked_suite import marked_evaluator

from tilesmith.config import CheckConfig
from tilesmith.errors import TaskError
from tilesmith.suite.allowance import Allowance
from tilesmith.suite.jobs import Work
from tilesmith.suite.records import SuiteLimits
from tilesmith.tasks.source import read_task
from tilesmith.tasks.user_code.task_name import TaskName

pytest.importorskip("ray", reason="the extra tilesmith[ray] is not here")

from tilesmith.suite.cluster.judge_actor import JudgeActor
from tilesmith.suite.cluster.judges import ClusterJudges, PlacedJudge, WantedJudges
from tilesmith.suite.cluster.nodes import ClusterNode


def test_jobs_are_shared_out_among_nodes_of_every_kind() -> None:
    """Also where Ray knows the GPUs of some nodes and others have none. A lost judge is replaced by one alike."""
    nodes = [ClusterNode(name, name, 1, 4, kind) for name, kind in (("a", ""), ("b", "H200"), ("c", "H200"))]
    placed = [PlacedJudge(node, None, None, slots=3, is_ready=True) for node in nodes]
    wanted = WantedJudges("cpu", None, lambda gpus, cores: 3, lambda device, judges: marked_evaluator)
    judges = ClusterJudges(wanted, print, placed, _looked_at=math.inf)
    allowance = Allowance(SuiteLimits())
    assert [judges.acquire(allowance).node.name for _ in range(3)] == ["a", "b", "c"]
    assert [judges.acquire(allowance, "H200").node.name for _ in range(2)] == ["b", "c"]


def test_a_task_whose_imports_are_not_the_same_on_a_node(tmp_path: Path) -> None:
    imported = tmp_path / "layers.py"
    imported.write_text("WIDTH = 1\n")
    (tmp_path / "task.py").write_text(f"from layers import WIDTH\n{TASK}")
    task = read_task(TaskName(str(tmp_path / "task.py")))
    judge = JudgeActor("cpu", "", lambda device, judges: partial(marked_evaluator, seconds=0.0))
    assert judge.survey(Work(task, CheckConfig())).task == "relu"
    for change in (lambda: imported.write_text("WIDTH = 2\n"), imported.unlink):
        change()
        with pytest.raises(TaskError, match=r"task\.py: imports .*layers\.py, not the same on node"):
            judge.survey(Work(task, CheckConfig()))
