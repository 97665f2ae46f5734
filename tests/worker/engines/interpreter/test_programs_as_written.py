"""Programs that repeat a recorded one leave the same bits in memory as programs that run as they are written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cheat_manifest import HONEST
from manifest import GOOD
from playbook_children import interpreting, shrink_task
from playbook_surveys import survey_task
from playbook_tasks import ELEMENTWISE, ROWS
from recurrent_tasks import TASKS
from test_convolution_chains import ALL_CONVOLUTIONS, CHAINS
from test_joined_convolutions import JOINED

from tilesmith.playbook import find_match
from tilesmith.playbook.plan.making import make_plan
from tilesmith.playbook.recipe import Declined
from tilesmith.worker.engines.engine import NoObserver

ROOT = Path(__file__).parents[4]
GOLDENS = ROOT / "tests" / "playbook" / "goldens"


class Digests(NoObserver):
    """What every launch has left in its tensors."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def after_launch(self, arguments: Iterable[Any]) -> None:
        import torch

        digest = hashlib.sha1()
        for one in arguments:
            tensor = getattr(one, "base", one)
            if hasattr(tensor, "data_ptr"):
                digest.update(tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        self.found.append(digest.hexdigest())


def find_deviations(task: str, kernel: str) -> list[str]:
    """Launches that leave something else; where there are atomics, in several orders of programs."""
    import torch

    from tilesmith.worker.candidate.loading import construct, execute
    from tilesmith.worker.compile import install_fake_driver
    from tilesmith.worker.engines.engine import CallSettings, observed
    from tilesmith.worker.engines.interpreter import install
    from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
    from tilesmith.worker.task.loading import load_task
    from tilesmith.worker.truth.variant import Variant

    interpreter = install()
    install_fake_driver("sm_90")
    variant = Variant(load_task("task.py", task), "cpu", "default", 0)

    def digests(order: int, repeats: bool) -> list[str]:
        interpreter.repeats_programs = repeats
        torch.manual_seed(0)
        with pretend_cuda():
            model, _ = construct(execute("kernel.py", kernel), variant.construction(), "cpu")
        interpreter.begin_call(CallSettings(schedule=order))
        watching = Digests()
        with pretend_cuda(), torch.no_grad(), observed(interpreter, watching):
            model(*variant.inputs("own").args)
        return watching.found

    deviations: list[str] = []
    torch.use_deterministic_algorithms(True, warn_only=True)  # what new memory holds is no chance
    try:
        for order in (0, 1, 2) if "atomic" in kernel else (0,):
            repeated, written = digests(order, True), digests(order, False)
            assert len(repeated) == len(written) > 0
            launches = enumerate(zip(repeated, written, strict=True))
            deviations += [f"launch {i} in order {order}" for i, (one, other) in launches if one != other]
    finally:
        interpreter.repeats_programs = True
        torch.use_deterministic_algorithms(False)
    return deviations


def compared(task: str, kernel: str) -> list[str]:
    return interpreting(find_deviations, interpreting(shrink_task, task), kernel)


FILES = {
    **{one.kernel: (one.task_path, one.kernel_path) for one in GOOD},
    **{one.name: (one.task_path, one.kernel_path) for one in HONEST if one.name != "neighbour"},  # imports a file
    **{
        f"example_{path.stem}": (ROOT / "examples" / path.name, path)
        for path in sorted((ROOT / "examples" / "kernels").glob("*.py"))
        if path.stem != "softmax_no_mask"
    },
}
SAMPLE = ("row_sum_atomic", "matmul_split_k", "softmax_online", "rnn_spin")


@pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.slow_suite) for name in FILES]
)
def test_kernels_of_others(name: str) -> None:
    task, kernel = (path.read_text() for path in FILES[name])
    assert compared(task, kernel) == []


@pytest.mark.slow_suite
@pytest.mark.parametrize("path", sorted(GOLDENS.glob("[er]*/*.txt")), ids=lambda path: path.stem)
def test_kernels_of_the_playbook(path: Path) -> None:
    tasks = {"elementwise": ELEMENTWISE, "rows": ROWS, "recurrent": TASKS}[path.parent.name]
    assert compared(tasks[path.stem], path.read_text()) == []


@pytest.mark.slow_suite
@pytest.mark.parametrize("name", CHAINS | JOINED)
def test_chained_convolutions(name: str) -> None:
    text = (CHAINS | JOINED)[name]
    survey = survey_task(name, text)
    plan = make_plan(survey, survey.graph, ALL_CONVOLUTIONS)
    assert compared(text, plan.write(plan.tunings[0])) == []


@pytest.mark.slow_suite
@pytest.mark.parametrize(
    "path",
    [
        path
        for kind in ("operators", "chains", "convolutions", "attention")
        for path in sorted((ROOT / "benchmarks" / "playbook_tasks" / kind).glob("*.py"))
    ],
    ids=lambda path: path.stem,
)
def test_kernels_of_the_benchmark(path: Path) -> None:
    text = interpreting(shrink_task, path.read_text())
    match = find_match(survey_task(path.stem, text))
    if isinstance(match, Declined):
        pytest.skip(f"PyTorch is kept at this size: {match.reason}")
    assert interpreting(find_deviations, text, match.write(match.tunings[0])) == []
