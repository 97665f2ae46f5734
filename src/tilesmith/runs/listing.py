"""All runs of a folder, newest first, and finding one of them by name.

A journal holds whole evaluations and replies, so a listing reads only the few lines that say how a run stands.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from tilesmith.errors import RunError
from tilesmith.runs.folder import is_locked
from tilesmith.runs.manifest import Manifest, Status, read_manifest
from tilesmith.runs.run_filter import DAMAGED, INTERRUPTED, RunFilter

_VERDICT = re.compile(
    rb'"evaluation": {"verdict": "(\w+)"'
)  # quotes inside texts are escaped, so this is the field


@dataclass(frozen=True)
class ListedRun:
    """One run at a glance."""

    folder: Path
    status: str
    """As in its manifest; but `interrupted` when it says running and nobody runs it, `damaged` when unreadable."""
    manifest: Manifest | None = None
    verdicts: int = 0
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
    def created(self) -> str:
        """A damaged run is placed by its name, which begins with the day."""
        return self.manifest.created if self.manifest else self.folder.name


def list_runs(parent: Path, wanted: RunFilter = RunFilter()) -> list[ListedRun]:  # noqa: B008
    """Newest first. A damaged run is listed with what is wrong with it."""
    runs = filter(wanted.fits, map(read_run, run_folders(parent)))
    return sorted(runs, key=lambda run: (run.created, _natural_order(run.folder.name)), reverse=True)


def read_run(folder: Path) -> ListedRun:
    try:
        manifest = _require_texts(folder, read_manifest(folder))
        facts = _read_facts(folder / "events.jsonl")
    except RunError as error:
        return ListedRun(folder, DAMAGED, problem=str(error))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return ListedRun(folder, DAMAGED, problem=f"{folder}: cannot be read: {type(error).__name__} {error}")
    return ListedRun(folder, current_status(folder, manifest), manifest, *facts)


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
        "why": manifest.why if manifest else run.problem,
        "verdicts": run.verdicts,
        "judged": sorted(run.judged),
        "best": run.best,
        "score": run.score,
        "faster": run.faster,
    }


def _require_texts(folder: Path, manifest: Manifest) -> Manifest:
    """What runs are sorted, searched and shown by must be there."""
    texts = (manifest.task, manifest.task_path, manifest.author, manifest.created, manifest.why)
    if not all(isinstance(text, str) for text in texts):
        raise RunError(f"{folder / 'run.json'}: is damaged: its task, author, date or end is not a text")
    return manifest


def current_status(folder: Path, manifest: Manifest) -> str:
    """A run that says it is running is interrupted when no process holds it."""
    if manifest.status is Status.RUNNING and not is_locked(folder):
        return INTERRUPTED
    return str(manifest.status)


def find_run(parent: Path, name: str) -> Path:
    """By path, by name under `parent`, by the start of a name when only one has it, or `last`."""
    if name == "last":
        return _newest(parent)
    for path in (parent / name, Path(name)):
        if name and (path / "run.json").is_file():
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
    whole = (run for run in list_runs(parent) if run.manifest)
    newest = next(whole, None)
    if newest is None:
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


class _JournalFacts(NamedTuple):
    """What a listing wants to know of a journal, in the order of the fields of `ListedRun`."""

    verdicts: int
    best: int | None
    score: float | None
    faster: bool | None
    judged: frozenset[str]


def _read_facts(journal: Path) -> _JournalFacts:
    """Only the lines that decide how a run stands are parsed."""
    lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    attempts = [line for line in lines if _is_event(line, "attempt")]
    verdicts = sum(b'"same_as": null' in line for line in attempts)
    judged = frozenset(found[1].decode() for line in attempts if (found := _VERDICT.search(line)))
    for line in lines[-1:]:
        if _is_event(line, "finished"):
            end = json.loads(line)
            return _JournalFacts(verdicts, end["best"], _number(end["score"]), end["faster"], judged)
    failed = {
        one["candidate"] for one in _parse_events(lines, "confirmed") if one["evaluation"]["verdict"] != "passed"
    }
    for line in reversed(attempts):
        if b'"kept": true' in line:
            attempt = json.loads(line)["attempt"]
            if attempt["candidate"]["number"] not in failed:
                number, score = attempt["candidate"]["number"], _number(attempt["score"])
                return _JournalFacts(verdicts, number, score, None, judged)
    return _JournalFacts(verdicts, None, None, None, judged)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _is_event(line: bytes, event: str) -> bool:
    """The event is the last field of its line."""
    return line.endswith(f'"event": "{event}"}}'.encode())


def _parse_events(lines: list[bytes], event: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines if _is_event(line, event)]


def _natural_order(name: str) -> list[tuple[int, str]]:
    """run-10 after run-9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
