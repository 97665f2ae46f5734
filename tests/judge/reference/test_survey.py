"""What an author is told about a task before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilesmith.errors import TaskError
from tilesmith.judge import Judge
from tilesmith.records import Survey, from_json, to_json
from tilesmith.tasks.source import read_task

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_a_survey_is_plain_data_and_complete(judge: Judge) -> None:
    survey = judge.survey(EXAMPLES / "layernorm.py")
    assert from_json(Survey, json.loads(json.dumps(to_json(survey)))) == survey
    assert survey.task == "layernorm"
    assert survey.source == (EXAMPLES / "layernorm.py").read_text()
    assert survey.device == "cpu"
    assert survey.profile.ops == {"aten.native_layer_norm": 1}
    assert survey.gpu is not None
    assert survey.gpu.target == judge.config.target
    assert survey.roofline is not None
    assert survey.roofline.bound == "memory"
    assert survey.graph is not None
    assert [node.op for node in survey.graph.nodes] == ["aten.layer_norm.default"]
    assert "torch" in survey.environment


def test_a_task_may_be_given_as_read(judge: Judge) -> None:
    path = EXAMPLES / "softmax.py"
    assert judge.survey(read_task(path)) == judge.survey(path)


def test_a_task_that_cannot_be_traced_says_why(judge: Judge, tmp_path: Path) -> None:
    task = tmp_path / "branch.py"
    task.write_text(
        (EXAMPLES / "softmax.py")
        .read_text()
        .replace("return torch", "if x.sum() > 0: x = -x\n        return torch")
    )
    survey = judge.survey(task)
    assert survey.graph is None
    assert "could not be traced" in survey.environment["untraced"]


def test_no_task_no_survey(judge: Judge, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no such file"):
        judge.survey(tmp_path / "missing.py")
