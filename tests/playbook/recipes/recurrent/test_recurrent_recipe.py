"""Recurrent layers of every kind, from the graph to a persistent kernel: its text, its values, the judge's word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from golden_texts import RECURRENT, first_of_each_kind, golden
from playbook_children import find_problems, interpreting
from playbook_judging import judge_written, some_of
from playbook_surveys import match_recurrent, survey_task
from recurrent_tasks import TASKS, cell_task, recurrent

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined, Tuning
from tilesmith.playbook.recipes.recurrent.planning import chunks
from tilesmith.playbook.recipes.recurrent.recipe import RecurrentMatch
from tilesmith.playbook.tuning import find_tuning
from tilesmith.records import COMPLEXITIES, Severity, Verdict
from tilesmith.worker.engines.recorder import recording

EXAMPLES = Path(__file__).parents[4] / "examples"
JUDGED = ("gru_3", "lstm_1_both_directions")
RUN = (
    *(name for name in TASKS if name.startswith(("gru", "lstm", "rnn"))),
    "without_bias", "in_a_submodule", "strided_weight", "batch_first_both_directions", "zeros_as_one_of_two_states",
    "learned_state", "one_sequence_from_a_state", "strided_input", "half_both_directions", "bfloat",
    "state_as_a_tuple", "last_step_into_a_linear", "last_step_changed_in_place", "one_step", "wide_input",
    "two_groups_of_sequences",
)  # fmt: skip
"""Every cell, and each part of the written module at least once."""
KINDS = ("without_bias", "lstm_3", "rnn_tanh_3", "gru_1_both_directions")


def match_named(name: str) -> RecurrentMatch:
    return match_recurrent(survey_task(name, TASKS[name]))


def assert_judged(judge: Judge, folder: Path, task: str, match: RecurrentMatch, tuning: Tuning) -> None:
    evaluation = judge_written(judge, folder, task, match, tuning)
    assert evaluation.verdict is Verdict.PASSED, f"{tuning}: {evaluation.reason}"
    assert evaluation.kernel_type == "persistent_recurrent"
    assert not [finding for finding in evaluation.findings if finding.severity is Severity.ERROR]
    assert evaluation.generality in ("general", None), evaluation.notes
    assert evaluation.resources, evaluation.notes


@pytest.mark.parametrize("name", RECURRENT)
def test_the_text_is_as_it_was(name: str) -> None:
    match = match_named(name)
    tuning = first_of_each_kind(match)[RECURRENT[name]]
    source = match.write(tuning)
    assert source == golden(f"recurrent/{name}")
    assert find_tuning(match, source) == tuning
    assert not [finding for finding in lint(read_kernel(source)).findings if finding.severity is not Severity.INFO]


@pytest.mark.parametrize("name", some_of(TASKS, RUN))
def test_values_of_the_first_tuning_are_right(name: str) -> None:
    match = match_named(name)
    assert interpreting(find_problems, TASKS[name], match.write(match.tunings[0]), ragged=False) == []


@pytest.mark.parametrize("name", some_of(TASKS, JUDGED))
def test_the_judge_passes_the_first_tuning(name: str, judge: Judge, tmp_path: Path) -> None:
    match = match_named(name)
    assert_judged(judge, tmp_path, TASKS[name], match, match.tunings[0])


@pytest.mark.parametrize("name", some_of(KINDS, ["without_bias", "gru_1_both_directions"]))
def test_values_of_every_kind_of_tuning_are_right(name: str) -> None:
    match = match_named(name)
    found = first_of_each_kind(match)
    assert set(found) == ({"layer", "exact"} if "both" in name else {"wave", "layer", "exact"})
    for tuning in found.values():
        assert interpreting(find_problems, TASKS[name], match.write(tuning), ragged=False) == [], tuning


@pytest.mark.slow_suite
@pytest.mark.parametrize("name", KINDS)
def test_the_judge_passes_every_kind_of_tuning(name: str, judge: Judge, tmp_path: Path) -> None:
    match = match_named(name)
    for tuning in first_of_each_kind(match).values():
        assert_judged(judge, tmp_path, TASKS[name], match, tuning)


WIDE = cell_task("lstm", 1, False, True, (2, 9, 5, 260))
DEEP = cell_task("gru", 3, False, True, (3, 2, 5, 7))


def in_two_parts() -> tuple[RecurrentMatch, Tuning]:
    match = match_recurrent(survey_task("wide", WIDE))
    plan = max((plan for plan in match.plans if chunks(match.layer, plan) == 2), key=lambda plan: plan.units)
    return match, plan.tuning


def in_several_launches() -> tuple[RecurrentMatch, Tuning]:
    survey = survey_task("deep", DEEP)
    assert survey.gpu is not None
    match = match_recurrent(replace(survey, gpu=replace(survey.gpu, multiprocessors=2)))
    tuning = first_of_each_kind(match)["wave"]
    assert tuning["LAYERS_AT_ONCE"] == 2
    return match, tuning


def test_a_state_that_is_read_in_two_parts() -> None:
    match, tuning = in_two_parts()
    assert interpreting(find_problems, WIDE, match.write(tuning), ragged=False) == []


def test_layers_that_do_not_fit_at_once_take_several_launches() -> None:
    match, tuning = in_several_launches()
    assert interpreting(find_problems, DEEP, match.write(tuning), ragged=False) == []


@pytest.mark.slow_suite
def test_the_judge_passes_what_does_not_fit_at_once(judge: Judge, tmp_path: Path) -> None:
    for task, (match, tuning) in ((WIDE, in_two_parts()), (DEEP, in_several_launches())):
        assert_judged(judge, tmp_path, task, match, tuning)


IEEE = ("output_and_state", "lstm_1_both_directions")


@pytest.mark.parametrize("name", IEEE)
def test_without_tf32_every_tuning_is_exact(name: str) -> None:
    match = match_recurrent(survey_task(name, TASKS[name], precision="ieee"))
    assert all("EXACT" in tuning for tuning in match.tunings)


@pytest.mark.slow_suite
def test_the_judge_passes_it_without_tf32(tmp_path: Path) -> None:
    with Judge(CheckConfig(device="cpu", timeout_s=15, precision="ieee")) as judge:
        for name in IEEE:
            match = match_recurrent(survey_task(name, TASKS[name], precision="ieee"))
            assert_judged(judge, tmp_path, TASKS[name], match, match.tunings[0])


@pytest.mark.parametrize("name", ["gru_1", "lstm_3_both_directions"])
def test_a_small_layer_is_left_to_pytorch(name: str) -> None:
    found = find_match(survey_task(name, TASKS[name]))
    assert isinstance(found, Declined)
    assert "cuDNN" in found.reason
    assert "PyTorch is kept" in found.reason


def test_a_large_one_is_not() -> None:
    assert isinstance(find_match(survey_task("gru", (EXAMPLES / "gru.py").read_text())), RecurrentMatch)


def recorded(task: str, kernel: str) -> list[dict[str, Any]]:
    """The constants of each launch of the recurrent kernel, in order."""
    import torch

    from tilesmith.worker.candidate.loading import execute
    from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
    from tilesmith.worker.task.loading import load_task

    loaded = load_task("task.py", task)
    with recording() as launches, pretend_cuda(), torch.no_grad():
        model = execute("recorded.py", kernel)(*loaded.init_args, **loaded.init_kwargs)
        model(*loaded.make_inputs().args)
    return [
        {launch.fn.arg_names[place]: value for (place, *_), value in launch.constexprs.items()}
        for launch in launches
        if "STORE_Y" in launch.fn.arg_names
    ]


NEEDS = {
    "only_the_last_state": ("_, h = self.rnn(x)\nreturn h", [True, True, False]),
    "last_step": ("y, _ = self.rnn(x)\nreturn y[-1]", [True, True, False]),
    "everything": ("y, h = self.rnn(x)\nreturn y, h", [True, True, True]),
}


@pytest.mark.parametrize("name", NEEDS)
@pytest.mark.parametrize("kind", ["wave", "layer"])
def test_what_nobody_needs_is_not_stored(name: str, kind: str) -> None:
    forward, expected = NEEDS[name]
    text = recurrent(forward, layer="nn.GRU(width, hidden, 3)")
    match = match_recurrent(survey_task(name, text))
    launches = recorded(text, match.write(first_of_each_kind(match)[kind]))
    assert [launch["STORE_Y"] for launch in launches] == (expected if kind == "layer" else expected[-1:])


@pytest.mark.parametrize("name", ["gru_3", "lstm_1", "rnn_relu_1_both_directions"])
def test_the_recipe_explains_itself(name: str) -> None:
    match = match_named(name)
    analysis = match.analysis()
    assert analysis.complexity == "persistent"
    assert analysis.complexity in COMPLEXITIES
    assert analysis.kernel_type == "persistent_recurrent"
    assert analysis.bottleneck.startswith("latency")
    assert analysis.expected_speedup is not None
    assert analysis.expected_speedup >= 1
    assert f"{match.layer.hidden_size} hidden units" in match.strategy(match.tunings[0])


def test_the_same_tuning_gives_the_same_text() -> None:
    first, second = match_named("gru_3"), match_named("gru_3")
    assert first.tunings == second.tunings
    assert len(set(first.tunings)) == len(first.tunings)
    assert [first.write(tuning) for tuning in first.tunings] == [second.write(tuning) for tuning in second.tunings]
