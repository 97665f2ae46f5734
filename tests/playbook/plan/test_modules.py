"""Modules in the habits of real code: every one is traced and planned, none fails, and what is written is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import golden
from playbook_children import find_differences, interpreting
from playbook_judging import judge_written, some_of
from playbook_modules import MODULES, outcome
from playbook_surveys import survey_task

from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.playbook import find_match
from tilesmith.playbook.plan.plan import Plan
from tilesmith.records import Severity, Verdict

OUTCOMES = {line.partition(":")[0]: line for line in golden("modules/outcomes").splitlines()}
PLANNED = [name for name, line in OUTCOMES.items() if "PyTorch is kept" not in line]
JUDGED = (
    *("PreNormBlock", "GroupedQueryAttention", "Rotary", "CacheInPlace", "MixtureOfExperts", "ConvBnReluInference"),
    *(
        "BasicBlock",
        "PooledStem",
        "InPlaceOnView",
        "ExponentialAverage",
        "DataclassOutput",
        "ConstantsInForward",
        *("AutocastRegion", "RoutedExperts"),
    ),
)
JUDGED_ALWAYS = ("PreNormBlock", "InPlaceOnView")


def plan_of(name: str, precision: str = "default") -> Plan:
    found = find_match(survey_task(name, MODULES[name], precision))
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize("name", MODULES)
def test_every_module_is_planned_as_it_was(name: str) -> None:
    assert outcome(name) == OUTCOMES[name]


@pytest.mark.parametrize("name", PLANNED)
def test_what_is_written_does_the_same(name: str) -> None:
    """Without TF32, in which PyTorch convolves on a GPU and not here."""
    plan = plan_of(name, "ieee")
    written = plan.write(plan.tunings[0])
    assert interpreting(find_differences, MODULES[name], written, plan.graph.training) == []
    assert [one for one in lint(read_kernel(written)).findings if one.severity is Severity.ERROR] == []


def test_a_module_that_cannot_be_traced_keeps_its_own_forward() -> None:
    plan = plan_of("RoutedExperts")
    written = plan.write(plan.tunings[0])
    assert "class RoutedExperts(nn.Module):" in written
    assert "if self.training is not True or not is_like(x, (None, 16), torch.float32):" in written
    assert "self.get_submodule('experts.1').__class__ = PlannedSwiGLU" in written
    assert "calls += 1" in (counting := plan_of("CallCounter")).write(counting.tunings[0])


@pytest.mark.parametrize("name", some_of(JUDGED, JUDGED_ALWAYS))
def test_the_judge_passes_it(name: str, judge: Judge, tmp_path: Path) -> None:
    plan = plan_of(name)
    evaluation = judge_written(judge, tmp_path, MODULES[name], plan, plan.tunings[0])
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
