"""One suite's folder.

suite.json         what was asked and a row for each job that has an outcome
suite.csv          the rows as a table
index.html         the page, with links to the reports of the runs
rows.jsonl         the truth: a row a line, on disk before it counts
runs/              a run folder for each task that is forged
evaluations/       the judge's whole answer about each kernel of others
log.txt            what a person saw
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tilesmith import __version__
from tilesmith.errors import RunError, UsageError
from tilesmith.records import from_json, to_json
from tilesmith.runs.atomic_files import UNWRITABLE, remove_leftovers, write_atomically
from tilesmith.suite.document import DOCUMENT_NAME, read_suite, suite_text
from tilesmith.suite.page import write_suite_page
from tilesmith.suite.records import Job, Row, Suite, SuiteSpecification
from tilesmith.suite.table import suite_csv

_SHOWN_EVERY_S = 30.0
"""The page is made anew at most so often while jobs go on."""
_WRITTEN_EVERY_S = 2.0
_OWN_NAMES = {DOCUMENT_NAME, "rows.jsonl", "suite.csv", "index.html", "runs", "evaluations", "log.txt"}
_MAY_CHANGE = (
    "name",
    "author.why",
    "author.price",
    "author.retries",
    "author.call_timeout_s",
    "author.idle_timeout_s",
)
"""From one session of a suite to the next."""


_OPTIONS = {
    "places": "place of tasks",
    "kernels": "--suite",
    "kind": "--author",
    "endpoint": "--model",
    "timeout_s": "--timeout",
    "mode": "--train",
}
"""Of fields that are not named as their options are."""


class SuiteFolder:
    """An open suite: this process alone writes to it."""

    def __init__(
        self, path: Path, specification: SuiteSpecification, jobs: Sequence[Job], without_kernel: int = 0
    ) -> None:
        """Begins the suite, or goes on with it; raises UsageError where another one lies there."""
        self.path, self.runs = path, path / "runs"
        self.jobs = tuple(jobs)
        self._digests = {job.key: job.digest for job in jobs}
        recorded = read_suite(path) if (path / DOCUMENT_NAME).exists() else None
        _require_fit(path, specification, recorded)
        with _saying_why(path):
            self.runs.mkdir(parents=True, exist_ok=True)
            self._file = (path / "rows.jsonl").open("a+b")
        self._lock()
        remove_leftovers(path)
        _remove_unbegun(self.runs)
        self._rows = {row.key: row for row in self._whole_rows() if row.digest == self._digests.get(row.key)}
        with _saying_why(path):
            self._log = (path / "log.txt").open("a", encoding="utf-8", errors=UNWRITABLE)
        created = recorded.created if recorded else datetime.now(UTC).isoformat(timespec="seconds")
        seconds = recorded.seconds if recorded else 0.0
        self._suite = Suite(created, specification, (), (), "", seconds, __version__, without_kernel=without_kernel)
        self._shown_at = self._written_at = -_SHOWN_EVERY_S
        self._page_s = 0.0
        self.publish("")

    @property
    def suite(self) -> Suite:
        """As it stands, in the order of the list."""
        keys = tuple(job.key for job in self.jobs)
        return replace(self._suite, keys=keys, rows=tuple(self._rows[key] for key in keys if key in self._rows))

    @property
    def seconds_before(self) -> float:
        return self._suite.seconds

    def unfinished(self, again: Iterable[str] = ()) -> list[Job]:
        """The jobs without an outcome, and those whose outcome is one of `again`."""
        again = set(again)
        return [job for job in self.jobs if job.key not in self._rows or self._rows[job.key].outcome in again]

    def add(self, row: Row, seconds: float) -> None:
        """When this returns, the row is on disk."""
        with _saying_why(self.path):
            self._file.write(json.dumps(to_json(row), ensure_ascii=False).encode("utf-8", UNWRITABLE) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        self._rows[row.key] = row
        now = time.monotonic()
        if now - self._written_at >= _WRITTEN_EVERY_S:
            self.publish("", seconds, with_page=now - self._shown_at >= max(_SHOWN_EVERY_S, 20 * self._page_s))

    def publish(self, why_unfinished: str, seconds: float | None = None, with_page: bool = True) -> None:
        """Make everything that people read from the rows. `seconds` are those of all sessions."""
        suite = replace(self.suite, why_unfinished=why_unfinished)
        if seconds is not None:
            suite = replace(suite, seconds=round(seconds, 1))
        with _saying_why(self.path):
            write_atomically(self.path / DOCUMENT_NAME, suite_text(suite))
            write_atomically(self.path / "suite.csv", suite_csv(suite))
        self._written_at = time.monotonic()
        if with_page:
            write_suite_page(suite, self.path / "index.html")
            self._shown_at = time.monotonic()
            self._page_s = self._shown_at - self._written_at

    def log(self, line: str) -> None:
        self._log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {line}\n")
        self._log.flush()

    def close(self) -> None:
        self._file.close()
        self._log.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise RunError(f"{self.path}: another tilesmith works on this suite; wait for it or stop it") from None

    def _whole_rows(self) -> Iterable[Row]:
        """Those of earlier sessions; the line that a kill cut off is removed."""
        self._file.seek(0)
        whole, _, torn = self._file.read().rpartition(b"\n")
        if torn:
            self._file.truncate(len(whole) + 1 if whole else 0)
        for number, line in enumerate(whole.split(b"\n") if whole else [], 1):
            try:
                yield from_json(Row, json.loads(line))
            except (ValueError, RecursionError) as error:
                where = f"{self.path / 'rows.jsonl'}:{number}"
                raise RunError(f"{where}: not a row of this version: {error}; remove that line") from None


@contextlib.contextmanager
def _saying_why(path: Path) -> Iterator[None]:
    """A full disk or a folder of somebody else's is told in one line."""
    try:
        yield
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}; make room, or see --out") from None


def _remove_unbegun(runs: Path) -> None:
    """Folders of runs that a kill cut off before there was a run: nothing has happened in them."""
    for folder in runs.iterdir():
        events = folder / "events.jsonl"
        if not (folder / "run.json").exists() and (not events.exists() or not events.stat().st_size):
            shutil.rmtree(folder, ignore_errors=True)


def _require_fit(path: Path, wanted: SuiteSpecification, recorded: Suite | None) -> None:
    if recorded is None:
        if path.is_dir() and not _is_without_rows(path):
            raise UsageError(f"{path}: is not empty and not a suite; name another folder with --out")
        return
    if not recorded.rows and _is_without_rows(path) and not any((path / "runs").glob("*")):
        return  # a first try that came to nothing, such as on a cluster that was not there
    old, new = _asked(recorded.specification), _asked(wanted)
    differing = [name for name in new if old.get(name) != new[name]]
    if differing:
        raise UsageError(
            f"{path}: holds a suite with another {_options(differing)}; name another folder with --out, or go on "
            f"with that one:  tilesmith suite --resume {path}"
        )


def _is_without_rows(folder: Path) -> bool:
    """Nothing lies there but what a suite made before its first row, or what is left of one without its rows."""
    names = {one.name for one in folder.iterdir() if not one.name.endswith(".new")}
    rows = folder / "rows.jsonl"
    is_own = names <= _OWN_NAMES and not names.isdisjoint({"rows.jsonl", "log.txt"})
    return not names or (is_own and not (rows.exists() and rows.stat().st_size))


def _options(fields: Sequence[str]) -> str:
    """By what a user changes them with."""
    names = (field.rpartition(".")[2] for field in fields)
    return ", ".join(dict.fromkeys(_OPTIONS.get(name, f"--{name.replace('_', '-')}") for name in names))


def _asked(specification: SuiteSpecification) -> dict[str, Any]:
    """What must be the same for rows to belong together; not how often a call is tried again."""
    asked: dict[str, Any] = {}
    for group, value in to_json(specification).items():
        parts = value if isinstance(value, dict) else {"": value}
        asked |= {f"{group}.{name}".rstrip("."): one for name, one in parts.items()}
    return {name: value for name, value in asked.items() if name not in _MAY_CHANGE}
