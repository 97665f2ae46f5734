"""The process in which written kernels run: on import, triton decides whether it interprets or compiles.

One child interprets whatever a test process asks for. It does not watch the kernels as a judge does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import count, islice
from math import inf
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tilesmith.judge.decisions.error_budget import judge_outputs
from tilesmith.records import KernelResources, Verdict
from tilesmith.tasks.gpus import REPRESENTATIVES
from tilesmith.tasks.shrunk_variants import make_odd_variants
from tilesmith.tasks.source import parse_task

P = ParamSpec("P")
R = TypeVar("R")
BUDGET = 2.0
"""A kernel may err so many times as much as PyTorch does in float32, both measured against float64."""
MOST_ODD_VARIANTS = 8
"""That are tried until the task runs on one of them."""


def interpreting(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What `function` returns in the one process whose kernels are interpreted."""
    return _interpreter().submit(function, *args, **kwargs).result()


@cache
def _interpreter() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"), _prepare)


def _prepare() -> None:
    os.environ |= {"TRITON_INTERPRET": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads of small products wait for long
    import torch

    torch.set_num_threads(1)


_numbers = count()


def find_problems(
    task: str, kernel: str, launches: int | None = None, ragged: bool = True, precision: str = "default"
) -> list[str]:
    """What is wrong with a kernel's values at the task's own shape and, on wilder inputs, at a ragged one."""
    number = next(_numbers)
    path = Path(f"task_{number}.py")
    runs = [(task, "own")]
    runs += [(text, "wild") for text in islice(_runnable_variants(path, task), 1)] if ragged else []
    return [
        found
        for position, (text, draw) in enumerate(runs)
        for found in _find_problems(path, text, f"kernel_{number}_{position}.py", kernel, draw, launches, precision)
    ]


def shrink_task(task: str) -> str:
    """The task at sizes that are quickly interpreted."""
    from tilesmith.worker.task.shrinking import choose_shrunk

    return choose_shrunk(parse_task(Path("task.py"), task)).text


def _runnable_variants(path: Path, task: str) -> Iterator[str]:
    from tilesmith.worker.task.trial import try_task

    for variant in islice(make_odd_variants(parse_task(path, task)), MOST_ODD_VARIANTS):
        if try_task(parse_task(path, variant.text)).runs:
            yield variant.text


def _find_problems(
    path: Path, task: str, kernel_path: str, kernel: str, draw: str, launches: int | None, precision: str
) -> Iterator[str]:
    import torch

    from tilesmith.worker.candidate.loading import construct, execute
    from tilesmith.worker.compile import install_fake_driver
    from tilesmith.worker.engines.engine import CallSettings
    from tilesmith.worker.engines.interpreter import install
    from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
    from tilesmith.worker.task.loading import load_task
    from tilesmith.worker.tensors.exchange import flatten, map_tensors
    from tilesmith.worker.truth.answer_comparison import compare_with_answer
    from tilesmith.worker.truth.variant import Variant

    interpreter = install()
    install_fake_driver("sm_90")
    variant = Variant(load_task(path, task), "cpu", precision, 0)
    with pretend_cuda():
        model, _ = construct(execute(kernel_path, kernel), variant.construction(), "cpu")
    draw = draw if variant.is_usable(draw) else "own"
    interpreter.begin_call(CallSettings())
    with pretend_cuda(), torch.no_grad():
        outputs = flatten(map_tensors(model(*variant.inputs(draw).args), torch.clone))
    if launches is not None and len(interpreter.launches) != launches:
        yield f"{len(interpreter.launches)} launches"
    found = compare_with_answer(variant, variant.answer(draw), outputs)
    judgment = judge_outputs(found.outputs, BUDGET, draw)
    if found.layout_problem or judgment.verdict is not Verdict.PASSED:
        yield found.layout_problem or judgment.message


def compile_exact(task: str, kernel: str, target: str, folder: str) -> list[KernelResources]:
    """What every kernel of a forward pass at the task's own shape needs on a GPU."""
    import torch

    from tilesmith.worker.candidate.loading import execute
    from tilesmith.worker.compile import compile_launch, distinct
    from tilesmith.worker.engines.recorder import recording
    from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
    from tilesmith.worker.task.fake_tensors import fake_tensors
    from tilesmith.worker.task.loading import load_task

    loaded = load_task(f"{folder}/task.py", task)
    with recording(target=target) as launches, pretend_cuda(), fake_tensors(), torch.no_grad():
        model = execute(f"{folder}/kernel.py", kernel)(*loaded.init_args, **loaded.init_kwargs)
        model(*loaded.make_inputs().args)
    return [compile_launch(launch, target) for launch in distinct(launches)]


class Twins:
    """A task's model and the one written for it, with the same parameters, where kernels are interpreted."""

    def __init__(self, task: str, kernel: str) -> None:
        from tilesmith.worker.candidate.loading import execute
        from tilesmith.worker.compile import install_fake_driver
        from tilesmith.worker.engines.interpreter import install
        from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
        from tilesmith.worker.task.loading import build_model, load_task

        self.interpreter = install()
        install_fake_driver("sm_90")
        number = next(_numbers)
        self.loaded = load_task(f"task_{number}.py", task)
        with pretend_cuda():
            written_class = execute(f"written_{number}.py", kernel)
            self.written = written_class(*self.loaded.init_args, **self.loaded.init_kwargs).eval()
        self.module: Any = sys.modules[written_class.__module__]
        self.reference = build_model(self.loaded).eval()
        self.written.load_state_dict(self.reference.state_dict())

    def outputs(self, *inputs: Any, schedule: int = 0, multiprocessors: int = 132) -> list[Any]:
        """The tensors that the written model returns with its programs in one of many orders."""
        import torch

        from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
        from tilesmith.worker.tensors.exchange import tensors_in

        self.interpreter.reschedule(schedule)
        gpu = replace(REPRESENTATIVES["sm_90"], multiprocessors=multiprocessors)
        with pretend_cuda(gpu), torch.no_grad():
            return tensors_in(self.written(*inputs))

    def expected(self, *inputs: Any) -> list[Any]:
        """The tensors that the task's own model returns."""
        import torch

        from tilesmith.worker.tensors.exchange import tensors_in

        with torch.no_grad():
            return tensors_in(self.reference(*inputs))

    def error(self, *inputs: Any, schedule: int = 0) -> float:
        return difference(self.outputs(*inputs, schedule=schedule), self.expected(*inputs))


def difference(got: list[Any], expected: list[Any]) -> float:
    """The largest one of any element; a NaN is infinitely far from anything."""
    assert [one.shape for one in got] == [one.shape for one in expected]
    furthest = [
        float((a.float() - b.float()).abs().nan_to_num(inf).max()) for a, b in zip(got, expected, strict=True)
    ]
    return max(furthest)


def find_differences(task: str, kernel: str, training: bool) -> list[str]:
    """How a written module differs from the task's own in two calls: in what it returns, and in what becomes of its
    state and of its inputs."""
    import torch

    from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
    from tilesmith.worker.task.forward_arguments import call
    from tilesmith.worker.task.loading import seed_everything
    from tilesmith.worker.tensors.exchange import flatten

    twins = Twins(task, kernel)
    found = [] if list(twins.written.state_dict()) == list(twins.reference.state_dict()) else ["other state"]
    for seed in range(2):
        seen = []
        for model in (twins.reference.train(training), twins.written.train(training)):
            inputs = twins.loaded.make_inputs(seed)
            seed_everything(seed)
            with pretend_cuda(), torch.no_grad():
                returned = call(model, inputs)
            seen.append((type(returned).__name__, flatten([returned, *inputs, model.state_dict()])))
        (kind, expected), (other_kind, got) = seen
        if kind != other_kind or expected.layout != got.layout:
            found.append(f"returns {other_kind} {got.layout} instead of {kind} {expected.layout}")
        for place, (one, other) in enumerate(zip(expected.tensors, got.tensors, strict=False)):
            same = one.dtype == other.dtype and one.shape == other.shape
            rounding = {"rtol": 1e-2, "atol": 1e-2} if one.dtype == torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-5}
            if not same or not torch.allclose(one, other, **rounding, equal_nan=True):
                found.append(f"tensor {place} of call {seed} is another one")
    return found
