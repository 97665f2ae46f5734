"""What `tilesmith suite` and `tilesmith check --suite` do once their options are read."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from tilesmith.cli.forging.forge_options import forge_choice, require_price
from tilesmith.cli.output_options import print_line
from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.suite.allowance import Allowance
from tilesmith.suite.document import read_suite, suite_document
from tilesmith.suite.folder import SuiteFolder
from tilesmith.suite.kernels_of_others import list_samples
from tilesmith.suite.listing import ListedTasks, list_tasks, select
from tilesmith.suite.records import ClusterChoice, JobOutcome, SuiteLimits, SuiteSpecification, TaskSelection
from tilesmith.suite.running import Notify, SuiteEnd, Workers, WorkersHere, default_jobs, run_suite


@dataclass(frozen=True)
class Session:
    """What may differ each time that a suite is gone on with."""

    limits: SuiteLimits
    jobs: int | None
    again: tuple[str, ...]
    """Outcomes that are tried again."""
    cluster: ClusterChoice | None
    """Null is this machine."""
    as_json: bool

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"--jobs {self.jobs}: must be at least 1")


def choose_cluster(on: str, address: str | None, gpu_kind: str | None) -> ClusterChoice | None:
    """What --on, --ray-address and --gpu-kind say; null is this machine."""
    if on not in ("here", "ray"):
        raise UsageError(f"--on {on}: use here or ray")
    if on == "here" and (address or gpu_kind):
        raise UsageError("--ray-address and --gpu-kind are for a cluster: add --on ray")
    return ClusterChoice(address, gpu_kind) if on == "ray" else None


def start_suite(
    places: Sequence[str],
    path: tuple[str, ...],
    selection: TaskSelection,
    out: Path | None,
    options: Mapping[str, Any],
    session: Session,
) -> int:
    """A new suite, or the one that lies in `out`."""
    if not places:
        raise UsageError("name folders or files with tasks, or --resume DIR; see  tilesmith suite --help")
    chosen = forge_choice(options)
    found = list_tasks(places, path)
    specification = SuiteSpecification(
        found.name, _absolute(places), _absolute(path), selection, chosen.check, chosen.author, chosen.settings
    )
    return _run(specification, out, session)


def judge_kernels(
    kernels: Path, tasks: str, path: tuple[str, ...], check: CheckConfig, out: Path | None, session: Session
) -> int:
    """`tilesmith check --suite`: kernels of others, against the tasks in a folder."""
    specification = SuiteSpecification(
        kernels.resolve().name,
        _absolute([tasks]),
        _absolute(path),
        TaskSelection(),
        check,
        kernels=str(kernels.resolve()),
    )
    return _run(specification, out, session)


def resume_suite(folder: Path, session: Session) -> int:
    return _run(read_suite(folder).specification, folder, session)


def _run(specification: SuiteSpecification, out: Path | None, session: Session) -> int:
    console = Console(file=sys.stderr if session.as_json else sys.stdout)
    if specification.author is not None:
        require_price(session.limits.max_cost, specification.author)
    listed = _listed(specification)
    jobs = select(listed.jobs, specification.selection)
    if not jobs:
        raise UsageError(f"none of the {len(listed.jobs)} tasks fits --only, --range and --first")
    where = out or _new_folder(specification.name)
    with contextlib.closing(SuiteFolder(where, specification, jobs, listed.without_kernel)) as folder:

        def notify(line: str) -> None:
            folder.log(line)
            print_line(line, console)

        for line in _opening_lines(folder, specification, listed):
            notify(line)
        workers = _workers(folder, session, notify)
        with contextlib.redirect_stdout(sys.stderr):  # Ray says there what becomes of its nodes
            end = run_suite(folder, specification, session.limits, workers, session.again, notify)
        if session.as_json:
            print_line(json.dumps(suite_document(folder.suite), indent=1), Console())
        else:
            for line in _closing_lines(folder, end):
                notify(line)
    return 1 if end.unfinished else 0


def _new_folder(name: str) -> Path:
    folder = Path("suites") / f"{datetime.now(UTC):%Y-%m-%d}-{name}"
    others = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(one for one in itertools.chain([folder], others) if not one.exists())


def _listed(specification: SuiteSpecification) -> ListedTasks:
    tasks = list_tasks(specification.places, specification.path)
    return list_samples(Path(specification.kernels), tasks) if specification.kernels else tasks


def _workers(folder: SuiteFolder, session: Session, notify: Notify) -> Callable[[Allowance], Workers]:
    cluster = session.cluster
    if cluster is not None:
        from tilesmith.suite.cluster.workers import WorkersOnRay

        return lambda allowance: WorkersOnRay(folder, cluster, session.jobs, notify, allowance)
    at_once = session.jobs or default_jobs(folder.suite.specification)
    return lambda allowance: WorkersHere(folder, at_once, notify, allowance)


def _opening_lines(folder: SuiteFolder, specification: SuiteSpecification, listed: ListedTasks) -> list[str]:
    author = specification.author
    lines = [f"suite   {folder.path}"]
    if author is not None:
        lines.append(f"author  {author.name}: {author.why}")
    count = _counted(len(folder.jobs), "kernel" if author is None else "task")
    done = len(folder.jobs) - len(folder.unfinished())
    lines.append(f"jobs    {count}{f', {done} of them done before' if done else ''}")
    if listed.left_out:
        what = "no kernel of these tasks" if author is None else "neither Model nor get_inputs there"
        lines.append(f"        {_counted(listed.left_out, 'other file')} left out: {what}")
    if listed.without_kernel:
        lines.append(f"        {_counted(listed.without_kernel, 'task')} left out: no kernel for it here")
    return lines


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _closing_lines(folder: SuiteFolder, end: SuiteEnd) -> list[str]:
    counts = Counter(row.outcome for row in folder.suite.rows)
    lines = ["", "        " + ", ".join(f"{counts[one]} {one}" for one in JobOutcome if counts[one])]
    if end.unfinished:
        why = f": {end.why_unfinished}" if end.why_unfinished else ""
        lines.append(f"        {end.unfinished} without an outcome{why}; {end.go_on}")
    return [*lines, f"page    {folder.path / 'index.html'}"]


def _absolute(places: Sequence[str]) -> tuple[str, ...]:
    """From any folder the same; the name of a module stays what it is."""
    from tilesmith.tasks.user_code.task_name import is_module_name

    return tuple(one if is_module_name(one) else os.path.abspath(os.path.expanduser(one)) for one in places)
