"""Recurrent layers of every kind, from the graph to a persistent kernel that the judge passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recurrent_tasks import DECLINED, PACKED, TASKS, cell_task, compiling, matched, recurrent

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined, Tuning
from tilesmith.playbook.recipes.recurrent import RecurrentMatch
from tilesmith.playbook.recurrent.planning import chunks
from tilesmith.playbook.tuning import tuning_of
from tilesmith.records import COMPLEXITIES, Severity, Verdict
from tilesmith.worker.engines.recorder import recording

EXAMPLES = Path(__file__).parents[2] / "examples"
WAVE, LAYER, EXACT = "wave", "layer", "exact"
"""Kinds of tunings: all layers in one launch, one launch for each, and full float32 products."""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(text)
    return path


def assert_right(judge: Judge, task: Path, match: RecurrentMatch, tuning: Tuning) -> None:
    source = match.write(tuning)
    assert tuning_of(match, source) == tuning
    evaluation = judge.check(task, written(task.parent, f"{task.stem}_kernel", source))
    assert evaluation.verdict is Verdict.PASSED, f"{tuning}: {evaluation.reason}"
    assert evaluation.kernel_type == "persistent_recurrent"
    assert not [finding for finding in evaluation.findings if finding.severity is Severity.ERROR]
    assert evaluation.generality in ("general", None), evaluation.notes
    assert evaluation.resources, evaluation.notes


def kinds(match: RecurrentMatch) -> dict[str, Tuning]:
    """The first tuning of every kind."""
    found: dict[str, Tuning] = {}
    for tuning in match.tunings:
        kind = EXACT if "EXACT" in tuning else WAVE if "LAYERS_AT_ONCE" in tuning else LAYER
        found.setdefault(kind, tuning)
    return found


@pytest.mark.parametrize("name", TASKS)
def test_the_first_tuning_is_right(name: str, judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, name, TASKS[name])
    match = matched(judge.survey(task))
    assert_right(judge, task, match, match.tunings[0])


@pytest.mark.parametrize("name", ["without_bias", "lstm_3", "rnn_tanh_3", "gru_1_both_directions"])
def test_every_kind_of_tuning_is_right(name: str, judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, name, TASKS[name])
    match = matched(judge.survey(task))
    found = kinds(match)
    assert set(found) == ({LAYER, EXACT} if "both" in name else {WAVE, LAYER, EXACT})
    for tuning in [tuning for tuning in found.values() if tuning != match.tunings[0]]:
        assert_right(judge, task, match, tuning)


def test_a_state_that_is_read_in_two_parts(judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, "wide", cell_task("lstm", 1, False, True, (2, 9, 5, 260)))
    match = matched(judge.survey(task))
    plan = max((plan for plan in match.plans if chunks(match.layer, plan) == 2), key=lambda plan: plan.units)
    assert_right(judge, task, match, plan.tuning)


def test_layers_that_do_not_fit_at_once_take_several_launches(judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, "deep", cell_task("gru", 3, False, True, (3, 2, 5, 7)))
    survey = judge.survey(task)
    assert survey.gpu is not None
    match = matched(replace(survey, gpu=replace(survey.gpu, multiprocessors=2)))
    assert kinds(match)[WAVE]["LAYERS_AT_ONCE"] == 2
    assert_right(judge, task, match, kinds(match)[WAVE])


def test_without_tf32_the_first_tuning_is_exact(tmp_path: Path) -> None:
    with Judge(CheckConfig(device="cpu", timeout_s=15, precision="ieee")) as judge:
        for name in ("output_and_state", "lstm_1_both_directions"):
            task = written(tmp_path, name, TASKS[name])
            match = matched(judge.survey(task))
            assert all("EXACT" in tuning for tuning in match.tunings)
            assert_right(judge, task, match, match.tunings[0])


@pytest.mark.parametrize("name", DECLINED)
def test_what_the_recipe_does_not_know_is_declined_with_a_reason(name: str, judge: Judge, tmp_path: Path) -> None:
    text, reason = DECLINED[name]
    found = find_match(judge.survey(written(tmp_path, name, text)))
    assert isinstance(found, Declined)
    assert reason in found.reason
    assert "\n" not in found.reason


def test_a_packed_sequence_is_declined(judge: Judge, tmp_path: Path) -> None:
    """By its trace, as on a GPU: the judge without one cannot run such a task."""
    from tilesmith.worker.task.loading import load_task
    from tilesmith.worker.task.tracing import trace

    padded = judge.survey(written(tmp_path, "padded", TASKS["gru_1"]))
    traced = trace(load_task(written(tmp_path, "packed", PACKED)))
    assert traced.graph is None
    found = find_match(replace(padded, graph=None, environment={"untraced": traced.reason}))
    assert isinstance(found, Declined)
    assert "pack_padded_sequence" in found.reason


@pytest.mark.parametrize("name", ["gru_1", "lstm_3_both_directions"])
def test_a_small_layer_is_left_to_pytorch(name: str, judge: Judge, tmp_path: Path) -> None:
    found = find_match(judge.survey(written(tmp_path, name, TASKS[name])))
    assert isinstance(found, Declined)
    assert "cuDNN" in found.reason
    assert "PyTorch is kept" in found.reason


def test_a_large_one_is_not(judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, "gru", (EXAMPLES / "gru.py").read_text())
    assert isinstance(find_match(judge.survey(task)), RecurrentMatch)


def recorded(task: str, kernel: str) -> list[dict[str, Any]]:
    """The constants of each launch of the recurrent kernel, in order."""
    import torch

    from tilesmith.worker.candidate.loading import execute
    from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
    from tilesmith.worker.task.loading import load_task

    loaded = load_task("task.py", task)
    with recording() as launches, pretend_cuda(), torch.no_grad():
        model = execute("recorded.py", kernel)(*loaded.init_args, **loaded.init_kwargs)
        model(*loaded.make_inputs())
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
@pytest.mark.parametrize("kind", [WAVE, LAYER])
def test_what_nobody_needs_is_not_stored(name: str, kind: str, judge: Judge, tmp_path: Path) -> None:
    forward, expected = NEEDS[name]
    text = recurrent(forward, layer="nn.GRU(width, hidden, 3)")
    match = matched(judge.survey(written(tmp_path, name, text)))
    launches = compiling(recorded, text, match.write(kinds(match)[kind]))
    assert [launch["STORE_Y"] for launch in launches] == (expected if kind == LAYER else expected[-1:])


@pytest.mark.parametrize("name", ["gru_3", "lstm_1", "rnn_relu_1_both_directions"])
def test_the_recipe_explains_itself(name: str, judge: Judge, tmp_path: Path) -> None:
    match = matched(judge.survey(written(tmp_path, name, TASKS[name])))
    analysis = match.analysis()
    assert analysis.complexity == "persistent"
    assert analysis.complexity in COMPLEXITIES
    assert analysis.kernel_type == "persistent_recurrent"
    assert analysis.bottleneck.startswith("latency")
    assert analysis.expected_speedup is not None
    assert analysis.expected_speedup >= 1
    assert f"{match.layer.hidden_size} hidden units" in match.strategy(match.tunings[0])


def test_the_same_tuning_gives_the_same_text(judge: Judge, tmp_path: Path) -> None:
    survey = judge.survey(written(tmp_path, "gru", TASKS["gru_3"]))
    first, second = matched(survey), matched(survey)
    assert first.tunings == second.tunings
    assert len(set(first.tunings)) == len(first.tunings)
    assert [first.write(tuning) for tuning in first.tunings] == [second.write(tuning) for tuning in second.tunings]
