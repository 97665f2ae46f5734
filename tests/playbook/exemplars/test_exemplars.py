"""Every exemplar is a whole kernel file that the judge passes and the linter has nothing against."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_children import find_problems, interpreting, shrink_task
from playbook_judging import some_of

from tilesmith.judge import Judge
from tilesmith.playbook.exemplars import INDEX, exemplars
from tilesmith.records import Severity

TESTS = Path(__file__).parents[2]
TASKS = {
    "elementwise": "playbook/exemplars/tasks/bias_silu_residual.py",
    "row_softmax": "fixtures/tasks/softmax.py",
    "layernorm": "fixtures/tasks/layernorm.py",
    "linear_gelu": "fixtures/tasks/linear_gelu.py",
    "gru_persistent": "playbook/exemplars/tasks/gru.py",
    "conv_relu_pool": "playbook/exemplars/tasks/conv_relu_pool.py",
}
KINDS = {
    "elementwise": "elementwise",
    "row_softmax": "normalization",
    "layernorm": "normalization",
    "linear_gelu": "gemm",
    "gru_persistent": "persistent_recurrent",
    "conv_relu_pool": "hybrid",
}


@pytest.mark.parametrize("name", INDEX)
def test_values_are_right(name: str) -> None:
    task = interpreting(shrink_task, (TESTS / TASKS[name]).read_text())
    assert interpreting(find_problems, task, exemplars()[name].source) == []


@pytest.mark.parametrize("name", some_of(INDEX, ["linear_gelu"]))
def test_it_passes_the_judge(judge: Judge, tmp_path: Path, name: str) -> None:
    kernel = tmp_path / f"{name}.py"
    kernel.write_text(exemplars()[name].source)
    found = judge.check(TESTS / TASKS[name], kernel)
    assert found.passed, found.reason
    assert found.kernel_type == KINDS[name]
    assert found.generality == "general"
    assert [finding for finding in found.findings if finding.severity is not Severity.INFO] == []
    assert [kernel.spills for kernel in found.resources] == [0] * len(found.resources) != []


def test_no_operator_has_two_exemplars() -> None:
    every = [op for ops in INDEX.values() for op in ops]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("name", INDEX)
def test_it_begins_with_what_it_computes(name: str) -> None:
    assert exemplars()[name].source.startswith('"""')
    assert len(exemplars()[name].source) < 8_000
