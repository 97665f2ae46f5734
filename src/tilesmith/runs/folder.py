"""One run's folder.

run.json           what was asked, and how the run stands
task.py            the task as it was when the run began
task/              the user's own files that it imports, as they were then
events.jsonl       the truth; everything below can be made again from it
kernels/NNNN.py    every candidate
llm/NNNN.*.md      every prompt and reply
best.py            the best verified kernel so far
report.html        all of it as a page to look at
log.txt            what a person saw
"""

from __future__ import annotations

import fcntl
import itertools
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from tilesmith.errors import RunError
from tilesmith.records import Attempt, CallEvent, Candidate, Event, Prompt
from tilesmith.runs.atomic_files import UNWRITABLE, remove_leftovers, write_atomically, write_if_changed
from tilesmith.runs.best_file import BestKernel, render_best
from tilesmith.runs.digest import text_digest
from tilesmith.runs.event_text import describe_event
from tilesmith.runs.journal import Journal
from tilesmith.runs.manifest import Manifest, Status, read_manifest, write_manifest


class RunFolder:
    """An open run: this process alone writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = read_manifest(path)
        self._lock = _lock(path)
        self.journal = Journal(path / "events.jsonl")
        for name in ("kernels", "llm"):
            (path / name).mkdir(exist_ok=True)
        remove_leftovers(path)
        self._restore_replies()
        self._log = (path / "log.txt").open("a", encoding="utf-8", errors=UNWRITABLE)

    def record(self, event: Event) -> bool:
        """When this returns, the event is on disk. One that is there already is not written again: then false."""
        is_new = self.journal.append(event)
        if is_new:
            self.log(describe_event(event))
        return is_new

    def kernel_path(self, candidate: Candidate) -> Path:
        """The candidate's file, which is there when this returns."""
        path = self.path / "kernels" / f"{candidate.number:04}.py"
        write_if_changed(path, candidate.source)
        return path

    def write_prompt(self, number: int, prompt: Prompt) -> None:
        text = f"{prompt.system.rstrip()}\n\n---\n\n{prompt.user}"
        write_if_changed(self.path / "llm" / f"{number:04}.prompt.md", text)

    def write_reply(self, called: CallEvent) -> None:
        write_if_changed(self.path / "llm" / f"{called.number:04}.reply.md", called.reply.text)

    def write_best(self, attempt: Attempt, told: str) -> Path:
        """The kernel with what it is for, and the checks that hold it to that."""
        path, source, number = self.path / "best.py", attempt.candidate.source, attempt.candidate.number
        best = BestKernel(source, told, self.manifest.task, self.path.name, number, attempt.evaluation)
        text = render_best(best)
        write_atomically(path, text)
        self.manifest = replace(self.manifest, best_sha256=text_digest(text))
        return path

    def log(self, line: str) -> None:
        stamp = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        self._log.write(f"{stamp}  {line}\n")
        self._log.flush()

    def change_author(self, author: str, choice: dict[str, Any]) -> None:
        """Another author goes on with the run."""
        configuration = {**self.manifest.configuration, "author": choice}
        self.manifest = replace(self.manifest, author=author, configuration=configuration)

    def set_status(self, status: Status, why: str = "") -> None:
        self.manifest = self.manifest.with_status(status, why)
        write_manifest(self.path, self.manifest)

    def close(self) -> None:
        self.journal.close()
        self._log.close()
        self._lock.close()

    def _restore_replies(self) -> None:
        """Replies a kill kept from their files."""
        for event in self.journal:
            if isinstance(event, CallEvent):
                self.write_reply(event)


def create_run(parent: Path, manifest: Manifest, task_text: str, own_files: Mapping[str, str] = {}) -> RunFolder:
    """A new folder under `parent`, named after the day and the task; `own_files` are texts by path."""
    path = _fresh_folder(parent, manifest)
    write_atomically(path / "task.py", task_text)
    for name, text in own_files.items():
        (path / "task" / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path / "task" / name, text)
    (path / "events.jsonl").touch()
    write_manifest(path, manifest)  # last: a folder with a run.json is whole
    return RunFolder(path)


def is_locked(path: Path) -> bool:
    """Whether a process is writing to this run now. Only looks."""
    try:
        with (path / "events.jsonl").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _fresh_folder(parent: Path, manifest: Manifest) -> Path:
    task = re.sub(r"[^A-Za-z0-9_]+", "-", manifest.task).strip("-") or "task"
    for number in itertools.count(1):
        path = parent / f"{manifest.created[:10]}-{task}-{number}"
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            continue
        except OSError as error:
            raise RunError(
                f"{path}: cannot make the run's folder: {error.strerror}; name another folder for runs"
            ) from None
    raise AssertionError("unreachable")


def _lock(path: Path) -> BinaryIO:
    try:
        file = (path / "events.jsonl").open("ab")
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from None
    for wait_s in (0.05, 0.2, None):  # somebody who only looks holds it for a moment
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except OSError:
            if wait_s is not None:
                time.sleep(wait_s)
    file.close()
    raise RunError(f"{path}: another tilesmith is writing to this run; wait for it or stop it")
