"""Which tasks a suite has: those of folders, files and patterns, selected and put in order."""

from __future__ import annotations

import ast
import glob
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tilesmith.errors import TilesmithError, UsageError
from tilesmith.runs.digest import text_digest
from tilesmith.runs.listing import natural_order
from tilesmith.suite.records import Job, TaskSelection
from tilesmith.syntax import parse
from tilesmith.tasks.source import ADAPTER, DEFAULT_NAMES, own_texts, read_task
from tilesmith.tasks.user_code.task_name import TaskName, is_module_name

_NOT_TASKS = ("run.json", "suite.json", "pyvenv.cfg")
"""A folder with one of these holds copies of tasks, or none."""


@dataclass(frozen=True)
class ListedTasks:
    """What was found at the places that a user named."""

    name: str
    """Of the folder that all names begin below."""
    jobs: tuple[Job, ...]
    """One for each task, in natural order."""
    left_out: int = 0
    """Files in folders that define nothing of a task."""
    without_kernel: int = 0
    """Tasks that nobody wrote a kernel for, where kernels of others are judged."""


def list_tasks(places: Sequence[str], path: tuple[str, ...] = ()) -> ListedTasks:
    """Every task at `places`: folders with all below them, files, patterns, MODULE:CLASS. A file that was found in
    a folder and defines neither a model nor inputs is left out; one that is broken is kept, and will say so. Names
    begin below the folder that was named, or that those named have in common, and so stay when files are added."""
    for folder in path:
        if not os.path.isdir(folder):
            raise UsageError(f"--path {folder}: no such folder")
    modules = [one for one in dict.fromkeys(places) if is_module_name(one)]
    found = [os.path.abspath(one) for place in places if place not in modules for one in _found_at(place)]
    named = [file for one in found for file in _files_of(one)]
    files = [Path(one) for one in dict.fromkeys(file for file, is_sure in named if is_sure)]
    if not files and not modules:
        raise UsageError(f"{', '.join(places)}: no tasks there; a task defines class Model and get_inputs()")
    folders = [one if os.path.isdir(one) else os.path.dirname(one) for one in found]
    root = Path(os.path.commonpath(folders)) if folders else Path.cwd()
    jobs = [_job(str(PurePosixPath(file.relative_to(root))).removesuffix(".py"), str(file), path) for file in files]
    jobs = sorted(jobs, key=lambda job: natural_order(job.key))
    jobs += [_job(one, one, path) for one in modules]
    return ListedTasks(root.name or "tasks", tuple(jobs), sum(not is_sure for _, is_sure in named))


def select(jobs: Sequence[Job], selection: TaskSelection) -> list[Job]:
    """By name, then by place in the list; then so many as are wanted, of a random order where that is wanted."""
    chosen = [job for job in jobs if not selection.only or any(_fits(job.task_key, one) for one in selection.only)]
    if selection.range is not None:
        low, high = map(int, selection.range.split("-"))
        chosen = chosen[low - 1 : high]
    if selection.shuffle is not None:
        random.Random(selection.shuffle).shuffle(chosen)
    return chosen[: selection.first]


def in_order_of_work(jobs: Iterable[Job], selection: TaskSelection) -> list[Job]:
    """The cheapest first, so that there is something to look at after a minute; or as they were shuffled."""
    return list(jobs) if selection.shuffle is not None else sorted(jobs, key=lambda job: _work_in(job.task.target))


def _found_at(place: str) -> list[str]:
    """The folder or file of that name, or all that fit the pattern."""
    if os.path.exists(place):
        return [place]
    found = sorted(glob.glob(os.path.expanduser(place), recursive=True))
    if not found:
        raise UsageError(f"{place}: no such folder, file or pattern that fits a file")
    return found


def _files_of(place: str) -> Iterator[tuple[str, bool]]:
    """Files, and whether each is to be taken for a task."""
    if os.path.isdir(place):
        yield from ((file, _may_be_a_task(Path(file))) for file in _python_files(place))
    else:
        yield place, True


def _python_files(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        if any(mark in files for mark in _NOT_TASKS):
            folders.clear()
            continue
        folders[:] = [one for one in folders if not one.startswith((".", "__"))]
        yield from (os.path.join(parent, file) for file in files if file.endswith(".py"))


def _may_be_a_task(file: Path) -> bool:
    try:
        tree = parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return True  # reading it as a task says what is wrong
    names = {DEFAULT_NAMES["model"], DEFAULT_NAMES["inputs"], ADAPTER}
    return any(not names.isdisjoint(_names_of(statement)) for statement in tree.body)


def _names_of(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return {one.id for one in statement.targets if isinstance(one, ast.Name)}
    return set()


def _job(key: str, target: str, path: tuple[str, ...]) -> Job:
    name = TaskName(target, path=path)
    return Job(key, name, key, level=str(PurePosixPath(key).parent).removeprefix("."), digest=_digest(name))


def _digest(name: TaskName) -> str:
    """Stands for everything that the task is made of; for the file alone where it is no task."""
    try:
        task = read_task(name)
    except TilesmithError:
        file = Path(name.target)
        return text_digest(file.read_bytes().decode("utf-8", "replace") if file.is_file() else "")
    return text_digest("\0".join([task.text, *(f"{one}\0{text}" for one, text in sorted(own_texts(task).items()))]))


def _fits(key: str, wanted: str) -> bool:
    return fnmatchcase(key, wanted) or wanted in key


def _work_in(target: str) -> int:
    """How much there is to trace, write and judge, from the text alone: the calls in it, those in loops as often as
    a loop of unknown length may run."""
    try:
        tree = parse(Path(target).read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return 0
    return _calls_in(tree)


def _calls_in(node: ast.AST) -> int:
    inside = sum(_calls_in(child) for child in ast.iter_child_nodes(node))
    if isinstance(node, ast.For | ast.comprehension | ast.While):
        return inside * 4
    return inside + isinstance(node, ast.Call)
