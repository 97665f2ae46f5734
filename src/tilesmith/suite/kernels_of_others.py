"""Kernels that others made, matched with their tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from tilesmith.errors import UsageError
from tilesmith.runs.digest import text_digest
from tilesmith.runs.listing import natural_order
from tilesmith.suite.listing import ListedTasks
from tilesmith.suite.records import Job

_SAMPLE = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.py")
"""How KernelBench names what a model wrote."""
_LEVEL = re.compile(r"level_?(\d+)")
_PROBLEM = re.compile(r"(\d+)_")


def list_samples(kernels: Path, tasks: ListedTasks) -> ListedTasks:
    """A job for each kernel in the folder: named as KernelBench names them, or by the key of their task."""
    if not kernels.is_dir():
        raise UsageError(f"{kernels}: no such folder of kernels")
    files = sorted(kernels.rglob("*.py"))
    jobs = [*_numbered(kernels, files, tasks.jobs)] or [*_named(kernels, files, tasks.jobs)]
    if not jobs:
        raise UsageError(
            f"{kernels}: no kernels of these tasks; they are named level_L_problem_P_sample_S_kernel.py, or as the "
            f"task is, such as {tasks.jobs[0].key}.py"
        )
    in_order = sorted(jobs, key=lambda job: natural_order(job.key))
    without = len(tasks.jobs) - len({job.task_key for job in jobs})
    return ListedTasks(kernels.resolve().name, tuple(in_order), len(files) - len(jobs), without)


def _numbered(kernels: Path, files: Sequence[Path], tasks: Sequence[Job]) -> Iterator[Job]:
    seen: dict[str, Path] = {}
    by_number: dict[tuple[int, int] | None, list[Job]] = {}
    for task in tasks:
        by_number.setdefault(_number_of(task), []).append(task)
    for file in files:
        named = _SAMPLE.fullmatch(file.name)
        fitting = by_number.get((int(named[1]), int(named[2])), []) if named else []
        if named is None or not fitting:
            continue
        task, *others = fitting
        if others:
            raise UsageError(
                f"{file}: is for {task.key} or {others[0].key}; name the folder of one of them with --tasks"
            )
        job = _sample(task, file, int(named[3]), f"{task.key} sample {int(named[3])}")
        if (other := seen.setdefault(job.key, file)) != file:
            raise UsageError(f"{kernels}: {other} and {file} are the same sample; name the folder of one run")
        yield job


def _named(kernels: Path, files: Sequence[Path], tasks: Sequence[Job]) -> Iterator[Job]:
    by_key = {task.key: task for task in tasks}
    for file in files:
        task = by_key.get(str(PurePosixPath(file.relative_to(kernels).with_suffix(""))))
        if task is not None:
            yield _sample(task, file, None, task.key)


def _sample(task: Job, file: Path, sample: int | None, key: str) -> Job:
    digest = text_digest(f"{task.digest}\0{file.read_bytes().decode('utf-8', 'replace')}")
    return replace(task, key=key, kernel=str(file.resolve()), sample=sample, digest=digest)


def _number_of(task: Job) -> tuple[int, int] | None:
    """Level and problem, where the task's folder and file are named as KernelBench's."""
    file = Path(task.task.target)
    level, problem = _LEVEL.fullmatch(file.parent.name), _PROBLEM.match(file.name)
    return (int(level[1]), int(problem[1])) if level and problem else None
