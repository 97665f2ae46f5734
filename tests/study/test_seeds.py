"""A study of seeds over scripted replies: real run folders, the real loop, no LLM and no judge."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from marked_equipment import MarkedEquipment, Replies, made, specification
from marked_kernels import TASK, MarkedEvaluator, kernel
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from tilesmith.errors import AuthorError, RunError, UsageError
from tilesmith.records import Reply, StopReason, Survey, Usage
from tilesmith.runs.listing import list_runs
from tilesmith.study.experiment import carry_out, recorded_runs
from tilesmith.study.features import UNREADABLE, code_features
from tilesmith.study.plot import check_plot_file, plot_seeds, seeds_figure
from tilesmith.study.seeds import (
    CATEGORIES,
    SeedOutcome,
    SeedStudy,
    plan_seeds,
    seeds_markdown,
    separating_features,
    study_seeds,
)


def seeds(*marks: str) -> list[Replies]:
    return [{"seed": [kernel(one, f"seed {number}")] * 10} for number, one in enumerate(marks)]


MARKS = ("passed 0.1", "passed 0.2", "passed 0.79", "passed 0.8", "passed 1.0", "passed 2.5", "wrong_values")


def studied(folder: Path, *marks: str) -> SeedStudy:
    plans = plan_seeds(specification(folder), len(marks))
    return study_seeds("list", made(plans, folder / "runs", MarkedEquipment(seeds(*marks))))


def test_seeds_fall_into_the_bins_of_the_documents(tmp_path: Path) -> None:
    study = studied(tmp_path, *MARKS)
    assert study.distribution == {
        "failed": 1,
        "0-0.2": 1,
        "0.2-0.5": 1,
        "0.5-0.8": 1,
        "0.8-1.0": 1,
        "1.0 and above": 2,
        "passed, not timed": 0,
    }
    assert (study.best, study.median, study.good) == (2.5, pytest.approx(0.795), 3)
    assert "| 0.2-0.5 | 1 | # |" in seeds_markdown(study)


def test_a_seed_is_neither_repaired_nor_revised_nor_asked_for_again(tmp_path: Path) -> None:
    replies = seeds("wrong_values", "passed 0.3 low gemm time-loop-on-host")
    equipment = MarkedEquipment([*replies, {"seed": ["no kernel here"] * 3}])
    runs = made(plan_seeds(specification(tmp_path), 3), tmp_path / "runs", equipment)
    assert [author.phases for author in equipment.made] == [["seed"]] * 3
    assert [len(summary.attempts) for _, summary in runs] == [1, 1, 0]
    assert study_seeds("list", runs).outcomes[2].verdict is None


def test_each_run_asks_for_the_next_variant_of_the_playbook(tmp_path: Path) -> None:
    equipment = MarkedEquipment(seeds("passed 1", "passed 1", "passed 1"))
    made(plan_seeds(specification(tmp_path), 3), tmp_path / "runs", equipment)
    assert [author.asked[0].seed for author in equipment.made] == [1, 2, 3]


def test_a_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    runs, wanted = tmp_path / "runs", specification(tmp_path)
    dying = MarkedEquipment([*seeds("passed 0.5"), {"seed": [AuthorError("no network")] * 2}])
    with pytest.raises(AuthorError, match="no network; what was done is kept: the same command goes on"):
        made(plan_seeds(wanted, 3), runs, dying)
    assert [run.status for run in list_runs(runs)] == ["stopped", "finished"]
    equipment = MarkedEquipment(seeds("passed 0.6", "passed 0.7"))
    study = study_seeds("list", made(plan_seeds(wanted, 3), runs, equipment))
    assert [one.score for one in study.outcomes] == [0.5, 0.6, 0.7]
    assert len(list_runs(runs)) == 3
    assert made(plan_seeds(wanted, 3), runs, MarkedEquipment([]))


def test_a_run_that_was_interrupted_before_anything_happened_leaves_nothing(tmp_path: Path) -> None:
    class Interrupted(MarkedEvaluator):
        def survey(self) -> Survey:
            raise KeyboardInterrupt

    with pytest.raises(RunError, match="interrupted; what was done is kept"):
        made(plan_seeds(specification(tmp_path), 1), tmp_path / "runs", MarkedEquipment([{}], Interrupted()))
    assert list_runs(tmp_path / "runs") == []


def test_runs_of_another_task_or_setting_do_not_count(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    made(plan_seeds(specification(tmp_path), 1), runs, MarkedEquipment(seeds("passed 0.5")))
    changed = specification(tmp_path, text=f"{TASK}\n")
    made(plan_seeds(changed, 1), runs, MarkedEquipment(seeds("passed 0.5")))
    assert len(list_runs(runs)) == 2


def test_recorded_seeds_are_judged_again_without_their_author(tmp_path: Path) -> None:
    wanted = specification(tmp_path)
    first = study_seeds("list", made(plan_seeds(wanted, 4), tmp_path / "runs", MarkedEquipment(seeds(*MARKS))))
    recorded = recorded_runs(tmp_path / "runs", wanted.task)
    equipment = MarkedEquipment([])
    again = study_seeds("list", made(plan_seeds(wanted, 4, recorded), tmp_path / "again", equipment))
    assert [one.score for one in again.outcomes] == [one.score for one in first.outcomes]
    with pytest.raises(UsageError, match="only 4 runs of the task are recorded"):
        plan_seeds(wanted, 5, recorded)
    with pytest.raises(UsageError, match="no runs of other in there"):
        recorded_runs(tmp_path / "runs", specification(tmp_path, "other", f"{TASK}# other\n").task)


def test_a_task_that_pytorch_keeps(tmp_path: Path) -> None:
    declined = Reply("no recipe", "playbook", StopReason.KEEPS_PYTORCH, Usage())
    runs = made(plan_seeds(specification(tmp_path), 1), tmp_path / "runs", MarkedEquipment([{"seed": [declined]}]))
    (outcome,) = study_seeds("playbook", runs).outcomes
    assert outcome.keeps_pytorch
    assert outcome.category == "failed"


def outcome(score: float, *features: str) -> SeedOutcome:
    return SeedOutcome("run", "passed", "", score, features)


def test_the_feature_that_separates_comes_first() -> None:
    good = [outcome(1.2, "tl.dot", "loop", "type gemm"), outcome(1.1, "tl.dot", "type gemm")]
    bad = [outcome(0.1, "type gemm", "loop"), outcome(0.2, "type gemm")]
    found = separating_features([*good, *bad])
    assert [(one.feature, one.good, one.bad) for one in found] == [("tl.dot", 2, 0), ("loop", 1, 1)]
    assert found[0].p == pytest.approx(1 / 3)
    assert separating_features(good) == ()


def test_features_are_read_off_the_source() -> None:
    examples = Path(__file__).parents[2] / "examples/kernels"
    assert {"type normalization", "complexity medium"} <= code_features((examples / "softmax.py").read_text())
    assert code_features("def f(:") == {UNREADABLE}
    by_hand = """
import torch, triton, triton.language as tl

@triton.jit
def k(x, n, B: tl.constexpr):
    o = tl.arange(0, B)
    for i in range(n):
        tl.store(x + o, tl.dot(tl.load(x + o), tl.load(x + o)))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(3):
            k[(4, 5)](x, 3, B=16)
        return torch.matmul(x, x)
"""
    expected = {"tl.dot", "loop in a kernel", "launch in a Python loop", "heavy work left to PyTorch"}
    assert expected | {"grid of several dimensions"} <= code_features(by_hand)


def test_the_picture_of_a_distribution(tmp_path: Path) -> None:
    study = studied(tmp_path, *MARKS)
    svg, png = tmp_path / "seeds.svg", tmp_path / "seeds.png"
    for file in (svg, png):
        check_plot_file(file)
        plot_seeds(study, file)
    assert png.read_bytes().startswith(b"\x89PNG")
    texts = re.findall(r">([^<>]+)</text>", svg.read_text())
    assert {"0-0.2", "0.2-0.5", "0.5-0.8", "0.8-1.0", "1.0 and", "above", "failed"} <= set(texts)
    assert {"7 seeds of relu", "by list"} <= set(texts)
    with pytest.raises(UsageError, match=r"ends in \.svg or \.png"):
        check_plot_file(tmp_path / "seeds.gif")
    with pytest.raises(UsageError, match="cannot be written"):
        check_plot_file(tmp_path / "nowhere" / "seeds.svg")


def test_labels_of_the_plot_have_room(tmp_path: Path) -> None:
    outcomes = tuple(SeedOutcome(str(number), "passed", "", None, ()) for number in range(len(CATEGORIES)))
    study = study_seeds("an author " * 30, [])
    every = dict.fromkeys(CATEGORIES, 100)
    figure = seeds_figure(replace(study, task="a_long_task_" * 20, outcomes=outcomes, distribution=every))
    FigureCanvasAgg(figure).draw()
    axes = figure.axes[0]
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(boxes) == len(CATEGORIES)
    assert all(left.x1 + 4 < right.x0 for left, right in pairwise(boxes))
    assert all(one.get_window_extent().x1 <= figure.bbox.width for one in axes.findobj(Text) if one.get_text())


def test_a_study_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--runs 0: must be at least 1"):
        plan_seeds(specification(tmp_path), 0)
    assert list(carry_out([], tmp_path, MarkedEquipment([]), print)) == []
