"""`op check`: one interface, then accuracy, and only if that passes, performance. The judge decides both."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tilesmith.config import CheckConfig
from tilesmith.errors import ProjectError, TaskError
from tilesmith.judge import Judge
from tilesmith.operators.interface import describe_change, read_whole_project
from tilesmith.operators.judged_task import (
    JudgedCall,
    accuracy_calls,
    accuracy_kernel,
    accuracy_task,
    refusable_values,
    single_call,
    single_kernel,
    single_task,
)
from tilesmith.operators.project import passing, write_project
from tilesmith.operators.records import Operator, Project
from tilesmith.operators.sizes import size_text
from tilesmith.operators.tuning.shape_choice import (
    always_kernel,
    kernel_once,
    left_to_pytorch,
    require_own_pytorch,
    shape_key,
)
from tilesmith.records import Evaluation, KernelResources, OutputErrors, Verdict

NOT_MEASURED = "not measured: no GPU here"
AT_ONCE = max(1, min(8, (os.cpu_count() or 1) // 2))
_ROOM = threading.BoundedSemaphore(AT_ONCE)
"""So many calls are prepared at once for measuring, however many operators this process checks."""


@dataclass(frozen=True)
class AccuracyResult:
    verdict: str
    reason: str
    cases: tuple[str, ...]
    """Each call of the operator that was judged: dtype, sizes, layout, a second value of a scalar."""
    errors: OutputErrors | None
    resources: tuple[KernelResources, ...]
    notes: tuple[str, ...]
    environment: dict[str, Any] = field(default_factory=dict)
    """Where it was judged: device, releases and the like."""

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"


@dataclass(frozen=True)
class MeasuredCall:
    """One shape in one dtype, timed against the baseline on the same inputs."""

    dtype: str
    sizes: str
    speedup: float = 1.0
    low: float = 1.0
    high: float = 1.0
    """Of the 95 % confidence interval."""
    kernel_ms: float | None = None
    baseline_ms: float | None = None
    gigabytes_per_s: float | None = None
    share_of_peak: float | None = None
    """Of the GPU's memory bandwidth on paper."""
    kept_pytorch: bool = False
    """The operator leaves this shape to PyTorch: nothing to measure."""


@dataclass(frozen=True)
class PerformanceResult:
    calls: tuple[MeasuredCall, ...]
    geometric_mean: float | None
    target: float
    target_met: bool | None
    """Null where nothing was measured."""
    reason: str


@dataclass(frozen=True)
class OperatorCheck:
    """What `op check` found; a project that is broken raises ProjectError instead."""

    operator: str
    change: str
    accuracy: AccuracyResult
    performance: PerformanceResult | None
    """Null where accuracy failed, which stops the check."""

    @property
    def passed(self) -> bool:
        return self.accuracy.passed and self.performance is not None and self.performance.target_met is not False


Tell = Callable[[str], None]


class Judges(NamedTuple):
    """Of the two halves of a check."""

    values: Judge
    speed: Judge


@contextlib.contextmanager
def open_judges(config: CheckConfig, host: Judge | None) -> Iterator[Judges]:
    """`host` lends its fork servers."""
    with (
        Judge(replace(config, timing=False), host=host) as values,
        Judge(replace(config, speed_only=True), host=values) as speed,
    ):
        yield Judges(values, speed)


def check_project(
    folder: Path, config: CheckConfig, tell: Tell = lambda _: None, host: Judge | None = None
) -> OperatorCheck:
    """Raises ProjectError for a broken project; records the state of one that passes in its operator.toml."""
    project, texts = read_whole_project(folder)
    with open_judges(config, host) as judges:
        found = judge_files(project, texts, judges, tell)
    now = passing(project, texts, judges.values.device)
    if found.passed and now != project:
        write_project(now)
    elif not found.passed and (found.performance is None or found.performance.geometric_mean is None):
        _forget(project, texts)  # wrong, at its real size perhaps
    return found


def judge_files(project: Project, texts: Mapping[str, str], judges: Judges, tell: Tell) -> OperatorCheck:
    """Both halves, of files that agree; nothing is written."""
    tell("accuracy")
    accuracy = judge_accuracy(project.operator, texts, judges.values, tell)
    performance = measure(project.operator, texts, judges.speed, tell) if accuracy.passed else None
    return OperatorCheck(project.operator.name, describe_change(project, texts), accuracy, performance)


def _forget(project: Project, texts: Mapping[str, str]) -> None:
    """What passed once, on another device perhaps, and does not any more, has not passed."""
    known = {kind: digest for kind, digest in project.passed.items() if kind != "device"}
    if known and known == passing(project, texts).passed:
        write_project(replace(project, passed={}))


def judge_accuracy(
    operator: Operator, texts: Mapping[str, str], judge: Judge, tell: Tell = lambda _: None
) -> AccuracyResult:
    """Every dtype, shape and layout in one check; in a second one where the file leaves shapes to PyTorch; and in
    one for each other value of a scalar that is no float, which a kernel may refuse by a ValueError."""
    require_own_pytorch(operator, texts)
    kernel, left = always_kernel(texts["triton"]), kernel_once(texts["triton"], operator)

    def judged(triton: str, calls: Sequence[JudgedCall]) -> Evaluation:
        task = accuracy_task(operator, texts["baseline"], calls)
        kernel = accuracy_kernel(operator, triton, calls)
        return _judged(judge, operator.name, task, kernel, lambda gate: tell(f"accuracy: {gate}"))

    calls, refused, where = list(accuracy_calls(operator)), [], ""
    evaluation = judged(kernel, calls)
    if evaluation.passed and left is not None:
        second = judged(left, calls)
        if not second.passed:
            evaluation, where = second, "where PyTorch is chosen: "
    for other in refusable_values(operator) if evaluation.passed else ():
        try:
            found = judged(kernel, other.calls)
        except TaskError as error:
            if other.is_named:
                raise ProjectError(f"{other.text}: PyTorch fails there: {error}; name another value") from None
            continue
        if found.verdict is Verdict.RUNTIME_ERROR and "ValueError" in found.reason:
            refused.append(f"refuses {other.text}, as it may: it is written for one value")
        elif found.passed:
            calls += other.calls
        else:
            evaluation, where = found, f"{other.text}: "
            break
    return AccuracyResult(
        verdict=str(evaluation.verdict),
        reason=where + evaluation.reason.replace("on the own inputs", "on ordinary inputs"),
        cases=tuple(one.label for one in calls),
        errors=evaluation.errors,
        resources=evaluation.resources,
        notes=(*evaluation.notes, *refused),
        environment=evaluation.environment,
    )


def measure(
    operator: Operator, texts: Mapping[str, str], judge: Judge, tell: Tell, at_once: int = AT_ONCE
) -> PerformanceResult:
    """Every shape for performance in every dtype; the first that is wrong at its real size ends it.

    Several are prepared at once; only one at a time is timed.
    """
    if judge.device == "cpu":
        return PerformanceResult((), None, operator.target, None, NOT_MEASURED)
    left = left_to_pytorch(texts["triton"])
    kernel = single_kernel(operator, always_kernel(texts["triton"]))

    def evaluate(call: JudgedCall) -> Evaluation | None:
        if shape_key(operator, call.sizes) in left:
            return None
        with _ROOM:
            tell(f"performance: {call.label}")
            task = single_task(operator, texts["baseline"], call)
            return _judged(judge, operator.name, task, kernel, lambda _: None)

    calls = [single_call(operator, dtype, sizes) for sizes in operator.performance for dtype in operator.dtypes]
    found: list[MeasuredCall] = []
    pool = ThreadPoolExecutor(at_once)
    try:
        for call, evaluation in zip(calls, pool.map(evaluate, calls), strict=True):
            if evaluation is None:
                found.append(MeasuredCall(call.dtype, size_text(call.sizes), kept_pytorch=True))
            elif not evaluation.passed or evaluation.timing is None:
                reason = f"{call.label}: {evaluation.verdict}: {evaluation.reason}"
                return PerformanceResult(tuple(found), None, operator.target, False, reason)
            else:
                one = _measured(call.dtype, size_text(call.sizes), evaluation)
                found.append(one)
                times = f"{one.kernel_ms:.4f} ms against {one.baseline_ms:.4f} ms"
                tell(f"performance: {call.label}: {one.speedup:.2f}x, {times}")
    finally:
        pool.shutdown(cancel_futures=True)
    mean = math.exp(sum(math.log(one.speedup) for one in found) / len(found))
    met = mean >= operator.target
    reason = f"geometric mean {mean:.3f}, target {operator.target:g}: {'met' if met else 'missed'}"
    return PerformanceResult(tuple(found), mean, operator.target, met, reason)


def _measured(dtype: str, sizes: str, evaluation: Evaluation) -> MeasuredCall:
    timing, roofline = evaluation.timing, evaluation.roofline
    assert timing is not None
    kernel_ms, eager = timing.candidate_ms.p50, timing.speedup["eager"]
    return MeasuredCall(
        dtype=dtype,
        sizes=sizes,
        speedup=eager.value,
        low=eager.low,
        high=eager.high,
        kernel_ms=kernel_ms,
        baseline_ms=timing.eager_ms.p50,
        gigabytes_per_s=roofline.bytes_moved / kernel_ms / 1e6 if roofline and roofline.bytes_moved else None,
        share_of_peak=roofline.memory_ms / kernel_ms if roofline else None,
    )


def _judged(judge: Judge, name: str, task: str, kernel: str, progress: Tell) -> Evaluation:
    with tempfile.TemporaryDirectory(prefix="tilesmith-op-") as folder:
        paths = [Path(folder) / f"{name}.py", Path(folder) / f"{name}_triton.py"]
        for path, text in zip(paths, (task, kernel), strict=True):
            path.write_text(text, encoding="utf-8")
        return judge.check(paths[0], paths[1], progress)
