"""Which tasks a suite has, which kernels belong to them, and in which order they are worked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.errors import UsageError
from tilesmith.suite.kernels_of_others import list_samples
from tilesmith.suite.listing import in_order_of_work, list_tasks, select
from tilesmith.suite.records import TaskSelection

TASK = "class Model: pass\ndef get_inputs(): return []\n"
KERNEL = "class ModelNew: pass\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The layout of KernelBench: levels with numbered problems, and code that is none."""
    for name in ("level1/10_Tanh", "level1/9_ReLU", "level1/1_Square", "level2/1_Conv", "level2/2_Linear"):
        file = tmp_path / "KernelBench" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TASK)
    (tmp_path / "KernelBench" / "level2" / "3_Broken.py").write_text("class Model(:\n")
    (tmp_path / "KernelBench" / "dataset.py").write_text("def problems(): return []\n")
    (tmp_path / "KernelBench" / ".cache").mkdir()
    (tmp_path / "KernelBench" / ".cache" / "4_Hidden.py").write_text(TASK)
    run = tmp_path / "KernelBench" / "old" / "runs" / "2026-01-01-x-1"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (run / "task.py").write_text(TASK)
    return tmp_path


def keys(jobs: object) -> list[str]:
    return [job.key for job in jobs]  # type: ignore[attr-defined]


def test_a_checkout_works_as_it_is(checkout: Path) -> None:
    listed = list_tasks([str(checkout / "KernelBench")])
    assert listed.name == "KernelBench"
    assert keys(listed.jobs) == [
        "level1/1_Square",
        "level1/9_ReLU",
        "level1/10_Tanh",
        "level2/1_Conv",
        "level2/2_Linear",
        "level2/3_Broken",
    ]
    assert [job.level for job in listed.jobs] == ["level1"] * 3 + ["level2"] * 3
    assert listed.left_out == 1


def test_names_stay_when_tasks_are_added_elsewhere(tmp_path: Path) -> None:
    """Else a suite that is resumed would do everything anew."""
    for folder in ("level1", "level2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1_ReLU.py").write_text(TASK)
        assert keys(list_tasks([str(tmp_path)]).jobs)[0] == "level1/1_ReLU"


def test_files_patterns_and_folders_together(checkout: Path) -> None:
    levels = checkout / "KernelBench"
    places = [str(levels / "level2"), str(levels / "level1" / "9*.py"), str(levels / "level1" / "9_ReLU.py")]
    assert keys(list_tasks(places).jobs) == ["level1/9_ReLU", "level2/1_Conv", "level2/2_Linear", "level2/3_Broken"]
    assert keys(list_tasks([str(levels / "level1")]).jobs) == ["1_Square", "9_ReLU", "10_Tanh"]
    with pytest.raises(UsageError, match="no such folder, file or pattern"):
        list_tasks([str(checkout / "nowhere*.py")])
    with pytest.raises(UsageError, match="no tasks there"):
        list_tasks([str(levels / "old")])


def test_every_job_has_a_name_of_its_own(tmp_path: Path) -> None:
    """A place that is named twice is one; files that differ in their endings are two."""
    for name in ("a.py", "a.txt"):
        (tmp_path / name).write_text(TASK)
    places = [str(tmp_path / "a.*"), "package.module:Norm", "package.module:Norm"]
    assert keys(list_tasks(places).jobs) == ["a", "a.txt", "package.module:Norm"]


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (TaskSelection(only=("level1",)), ["level1/1_Square", "level1/9_ReLU", "level1/10_Tanh"]),
        (TaskSelection(only=("*/1_*", "Tanh")), ["level1/1_Square", "level1/10_Tanh", "level2/1_Conv"]),
        (TaskSelection(range="2-4"), ["level1/9_ReLU", "level1/10_Tanh", "level2/1_Conv"]),
        (TaskSelection(range="2-4", first=1), ["level1/9_ReLU"]),
        (TaskSelection(only=("level2",), range="2-9"), ["level2/2_Linear", "level2/3_Broken"]),
    ],
)
def test_selections(checkout: Path, selection: TaskSelection, chosen: list[str]) -> None:
    assert keys(select(list_tasks([str(checkout / "KernelBench")]).jobs, selection)) == chosen


def test_a_shuffle_is_the_same_for_the_same_seed(checkout: Path) -> None:
    jobs = list_tasks([str(checkout / "KernelBench")]).jobs
    once, again = (keys(select(jobs, TaskSelection(shuffle=7))) for _ in range(2))
    assert once == again
    assert once != keys(jobs)
    assert sorted(once) == sorted(keys(jobs))
    assert keys(in_order_of_work(select(jobs, TaskSelection(shuffle=7)), TaskSelection(shuffle=7))) == once


@pytest.mark.parametrize(
    "wrong",
    [
        {"first": 0},
        {"range": "5-2"},
        {"range": "0-3"},
        {"range": "3"},
        {"range": ""},
        {"range": "a-b"},
        {"range": "1-2-3"},
    ],
)
def test_selections_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"^--"):
        TaskSelection(**wrong)  # type: ignore[arg-type]


def test_cheap_tasks_come_first(tmp_path: Path) -> None:
    (tmp_path / "a_network.py").write_text(TASK + "x = [f(g(i)) for i in range(3)]\nfor i in y: h(k(i), l(i))\n")
    (tmp_path / "b_operator.py").write_text(TASK)
    (tmp_path / "c_chain.py").write_text(TASK + "x = f(g(1))\n")
    jobs = list_tasks([str(tmp_path)]).jobs
    assert keys(in_order_of_work(jobs, TaskSelection())) == ["b_operator", "c_chain", "a_network"]


def test_a_changed_task_has_another_digest(tmp_path: Path) -> None:
    """So has one whose own import changed."""
    (tmp_path / "layers.py").write_text("WIDTH = 1\n")
    (tmp_path / "task.py").write_text("from layers import WIDTH\n" + TASK)

    def digest() -> str:
        return {job.key: job.digest for job in list_tasks([str(tmp_path)], (str(tmp_path),)).jobs}["task"]

    first = digest()
    (tmp_path / "layers.py").write_text("WIDTH = 2\n")
    assert digest() != first


def test_samples_named_as_kernelbench_names_them(checkout: Path) -> None:
    tasks, results = list_tasks([str(checkout / "KernelBench")]), checkout / "runs" / "a-model"
    results.mkdir(parents=True)
    for level, problem, sample in ((1, 9, 0), (1, 9, 10), (1, 9, 2), (2, 1, 0), (3, 1, 0)):
        (results / f"level_{level}_problem_{problem}_sample_{sample}_kernel.py").write_text(KERNEL)
    (results / "eval_results.json").write_text("{}")
    listed = list_samples(results, tasks)
    expected = [
        "level1/9_ReLU sample 0",
        "level1/9_ReLU sample 2",
        "level1/9_ReLU sample 10",
        "level2/1_Conv sample 0",
    ]
    assert keys(listed.jobs) == expected
    assert [job.sample for job in listed.jobs] == [0, 2, 10, 0]
    assert (listed.left_out, listed.without_kernel) == (1, 4)
    assert listed.name == "a-model"
    twin = checkout / "runs" / "b-model"
    twin.mkdir()
    (twin / "level_1_problem_9_sample_0_kernel.py").write_text(KERNEL)
    with pytest.raises(UsageError, match="are the same sample; name the folder of one run"):
        list_samples(checkout / "runs", tasks)


def test_a_sample_of_either_of_two_tasks_is_refused(tmp_path: Path) -> None:
    for folder in ("old", "new"):
        (tmp_path / folder / "level1").mkdir(parents=True)
        (tmp_path / folder / "level1" / "1_ReLU.py").write_text(TASK)
    results = tmp_path / "results"
    results.mkdir()
    (results / "level_1_problem_1_sample_0_kernel.py").write_text(KERNEL)
    with pytest.raises(UsageError, match="is for new/level1/1_ReLU or old/level1/1_ReLU"):
        list_samples(results, list_tasks([str(tmp_path / "old"), str(tmp_path / "new")]))


def test_kernels_named_as_their_tasks(checkout: Path, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    (kernels / "level1").mkdir(parents=True)
    (kernels / "level1" / "9_ReLU.py").write_text(KERNEL)
    tasks = list_tasks([str(checkout / "KernelBench")])
    (job,) = list_samples(kernels, tasks).jobs
    assert (job.key, job.task_key, job.sample) == ("level1/9_ReLU", "level1/9_ReLU", None)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="no kernels of these tasks"):
        list_samples(empty, tasks)
