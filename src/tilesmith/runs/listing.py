"""How a run stands, all runs of a folder, newest first, and finding one of them by name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tilesmith.errors import RunError
from tilesmith.runs.folder import is_locked
from tilesmith.runs.journal_facts import read_journal_facts
from tilesmith.runs.manifest import Manifest, Status, read_manifest
from tilesmith.runs.run_filter import DAMAGED, INTERRUPTED, RunFilter


@dataclass(frozen=True)
class ListedRun:
    """One run at a glance."""

    folder: Path
    status: str
    """As in its manifest; but `interrupted` when it says running and nobody runs it, `damaged` when a file cannot
    be read or part of the journal is lost."""
    manifest: Manifest | None = None
    """Null where it cannot be read."""
    verdicts: int | None = None
    """Of this and what follows nothing is known of a damaged run."""
    best: int | None = None
    """Number of the best kernel so far."""
    score: float | None = None
    """Its speedup, where it was timed."""
    faster: bool | None = None
    """Whether the winner beats every baseline; null before the end, or where nothing was timed."""
    judged: frozenset[str] = frozenset()
    """The verdicts that its kernels got."""
    problem: str = ""
    """Why it is damaged."""

    @property
    def task(self) -> str:
        """A damaged run is known by its name, which holds the task's."""
        return self.manifest.task if self.manifest else self.folder.name

    @property
    def why(self) -> str:
        """What is wrong with it, or how it ended."""
        return self.problem or (self.manifest.why if self.manifest else "")

    @property
    def created(self) -> str:
        """A damaged run is placed by its name, which begins with the day."""
        return self.manifest.created if self.manifest else self.folder.name


def list_runs(parent: Path, wanted: RunFilter = RunFilter()) -> list[ListedRun]:  # noqa: B008
    """Newest first. A damaged run is listed with what is wrong with it."""
    runs = filter(wanted.fits, map(read_run, run_folders(parent)))
    return sorted(runs, key=lambda run: (run.created, natural_order(run.folder.name)), reverse=True)


def read_run(folder: Path) -> ListedRun:
    """How the run stands: every command and page has it from here."""
    run = _read_stamped(folder)
    if run.status != Status.RUNNING or is_locked(folder):
        return run
    run = _read_stamped(folder)  # it may have ended between the two looks
    return replace(run, status=INTERRUPTED) if run.status == Status.RUNNING else run


_known: dict[Path, tuple[list[str], ListedRun]] = {}
"""Runs as they were when their files had these stamps: a page that follows many asks again and again."""


def _read_stamped(folder: Path) -> ListedRun:
    stamps = [file_stamp(folder / name) for name in ("run.json", "events.jsonl")]
    known = _known.get(folder)
    if known is None or known[0] != stamps:
        known = _known[folder] = stamps, _read_files(folder)
    return known[1]


def file_stamp(path: Path) -> str:
    """A word that changes with the file."""
    try:
        found = path.stat()
    except OSError:
        return "missing"
    return f"{found.st_size}.{found.st_mtime_ns}"


def _read_files(folder: Path) -> ListedRun:
    manifest = None
    try:
        manifest = read_manifest(folder)
        facts = read_journal_facts(folder, manifest)
    except RunError as error:
        return ListedRun(folder, DAMAGED, manifest, problem=str(error))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        problem = f"{folder}: cannot be read: {type(error).__name__} {error}"
        return ListedRun(folder, DAMAGED, manifest, problem=problem)
    return ListedRun(folder, str(manifest.status), manifest, **vars(facts))


def require_whole(run: ListedRun) -> Manifest:
    """Raises RunError where the run is damaged, for whoever needs all of it."""
    if run.manifest is None or run.status == DAMAGED:
        raise RunError(f"{run.problem}; `tilesmith report {run.folder}` shows what is left")
    return run.manifest


def listed_document(run: ListedRun) -> dict[str, Any]:
    """The run at a glance as JSON."""
    manifest = run.manifest
    return {
        "run": run.folder.name,
        "path": str(run.folder),
        "task": manifest.task if manifest else None,
        "author": manifest.author if manifest else None,
        "model": manifest.model if manifest else None,
        "created": manifest.created if manifest else None,
        "status": run.status,
        "why": run.why,
        "verdicts": run.verdicts,
        "judged": sorted(run.judged),
        "best": run.best,
        "score": run.score,
        "faster": run.faster,
    }


def find_run(parent: Path, name: str) -> Path:
    """By path, by name under `parent`, by the start of a name when only one has it, or `last`."""
    if name == "last":
        return _newest(parent)
    for path in (parent / name, Path(name)):
        if name and _looks_like_a_run(path):
            return path
    names = sorted(folder.name for folder in run_folders(parent))
    found = [one for one in names if name and one.startswith(name)]
    if len(found) == 1:
        return parent / found[0]
    if found:
        raise RunError(f"'{name}' could be {_join_names(found)}; write more of the name")
    if name and Path(name).is_dir():
        raise RunError(f"{name}: not a run (it has no run.json); `tilesmith runs` lists them")
    raise RunError(f"no run '{name}' in {parent}: {_suggest(name, names)}")


def _newest(parent: Path) -> Path:
    whole = (run for run in list_runs(parent) if run.status != DAMAGED)
    newest = next(whole, None)
    if newest is None:
        if run_folders(parent):
            raise RunError(f"every run in {parent} is damaged; `tilesmith runs` says how")
        raise RunError(f"no runs in {parent} yet; `tilesmith forge TASK` makes one")
    return newest.folder


def _suggest(name: str, names: list[str]) -> str:
    near = [one for one in names if name and name.lower() in one.lower()] or get_close_matches(
        name, names, cutoff=0.4
    )
    return f"did you mean {_join_names(near)}?" if near else "`tilesmith runs` lists them"


def _join_names(names: list[str]) -> str:
    more = f" or one of {len(names) - 4} more" if len(names) > 4 else ""
    return " or ".join(names[:4]) + more


def run_folders(parent: Path) -> list[Path]:
    """Those that are runs, or were about to become one when they were killed."""
    if not parent.is_dir():
        return []
    try:
        inside = list(parent.iterdir())
    except OSError as error:
        raise RunError(f"{parent}: cannot be read: {error.strerror}") from None
    return [path for path in inside if _looks_like_a_run(path)]


def _looks_like_a_run(path: Path) -> bool:
    try:
        return any((path / mark).is_file() for mark in ("run.json", "events.jsonl"))
    except PermissionError:
        return True  # reading it will say what is wrong


def natural_order(name: str) -> list[tuple[int, str]]:
    """run-10 after run-9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
