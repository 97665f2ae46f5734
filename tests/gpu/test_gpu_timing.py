"""Timing on a real GPU: every baseline is there and numbers are consistent; and what the sanitizer sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.judge.machine.devices import gpu_present
from tilesmith.tasks.user_code.task_name import TaskName

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]


@pytest.fixture(scope="module")
def gpu_judge() -> Iterator[Judge]:
    with Judge(CheckConfig(device="cuda")) as warm:
        yield warm


def test_a_passing_kernel_is_timed_against_every_baseline(gpu_judge: Judge, fixtures: Path) -> None:
    evaluation = gpu_judge.check(fixtures / "tasks/silu_add.py", fixtures / "kernels/silu_add_plain.py")
    timing = evaluation.timing
    assert timing is not None, evaluation.reason
    assert set(timing.speedup) == {"eager", "graph", "compile"}
    for name, gain in timing.speedup.items():
        assert gain.low <= gain.value <= gain.high, name
    assert timing.candidate_ms.p20 <= timing.candidate_ms.p50 <= timing.candidate_ms.p80
    assert timing.call_ms["candidate"].p50 > 0
    assert evaluation.roofline is not None
    assert timing.candidate_ms.p50 > 0.5 * evaluation.roofline.memory_ms
    assert evaluation.triton_time_share is not None
    assert evaluation.triton_time_share > 0.9


def test_one_fused_pass_beats_eager_of_three_on_large_data(
    gpu_judge: Judge, fixtures: Path, tmp_path: Path
) -> None:
    task = tmp_path / "large.py"
    text = (fixtures / "tasks/silu_add.py").read_text()
    task.write_text(text.replace("ROWS = ", "ROWS = 8 * "))
    evaluation = gpu_judge.check(task, fixtures / "kernels/silu_add_plain.py")
    assert evaluation.timing is not None, evaluation.reason
    assert evaluation.timing.speedup["eager"].low > 1.0


def test_the_sanitizer_has_nothing_to_say_about_a_good_kernel(fixtures: Path) -> None:
    with Judge(CheckConfig(device="cuda", timing=False, sanitize=True)) as judge:
        good = judge.check(fixtures / "tasks/relu.py", fixtures / "kernels/relu_persistent.py")
    assert good.passed, good.reason
    assert not [note for note in good.notes if "sanitize" in note]


def test_keyword_arguments_and_dictionaries_are_timed_like_all_others(gpu_judge: Judge, fixtures: Path) -> None:
    task = TaskName("user_package.model:Norm", path=(str(fixtures),))
    evaluation = gpu_judge.check(task, fixtures / "user_kernels/norm.py")
    assert evaluation.passed, evaluation.reason
    assert evaluation.timing is not None
    assert set(evaluation.timing.speedup) == {"eager", "graph", "compile"}
