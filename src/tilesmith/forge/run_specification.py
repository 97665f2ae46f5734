"""What a user asks a run for: a task, an author, how to judge and how much to try. It is kept in run.json."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tilesmith import __version__
from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.config import CheckConfig
from tilesmith.errors import RunError, TaskError
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import from_json, to_json
from tilesmith.runs import Manifest, RunFolder, create_run
from tilesmith.runs.digest import text_digest
from tilesmith.runs.manifest import read_manifest
from tilesmith.tasks.source import own_texts, read_task
from tilesmith.tasks.user_code.task_name import TaskName


@dataclass(frozen=True)
class RunSpecification:
    """All a run needs to begin or to go on. Holds no key."""

    task: TaskName
    author: AuthorChoice
    check: CheckConfig
    settings: ForgeSettings
    study: str = ""
    """The place the run has in a study; empty for a run of its own."""


def begin_run(specification: RunSpecification, runs: Path) -> RunFolder:
    """A new run's folder. Raises TaskError before anything is written if the task is none."""
    task = read_task(specification.task)
    configuration = {
        "author": to_json(specification.author),
        "check": to_json(specification.check),
        "dials": to_json(specification.settings),
    }
    own_files = own_texts(task)
    manifest = Manifest(
        task=task.name,
        task_path=str(task.path.resolve()),
        task_sha256=text_digest(task.text),
        author=specification.author.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        configuration=configuration,
        environment={"tilesmith": __version__, "python": platform.python_version(), "machine": platform.machine()},
        task_name=specification.task.absolute(),
        own_files=_digests(own_files),
        study=specification.study,
    )
    return create_run(runs, manifest, task.model_text, own_files)


def read_specification(folder: Path) -> RunSpecification:
    """What the run in `folder` was asked for; its task must still be what it was."""
    manifest = read_manifest(folder)
    try:
        specification = RunSpecification(
            task=manifest.task_name or TaskName(manifest.task_path),
            author=from_json(AuthorChoice, manifest.configuration["author"]),
            check=from_json(CheckConfig, manifest.configuration["check"]),
            settings=from_json(ForgeSettings, manifest.configuration["dials"]),
            study=manifest.study,
        )
    except (KeyError, ValueError) as error:
        raise RunError(f"{folder / 'run.json'}: its configuration is damaged: {error}") from None
    task = read_task(specification.task)
    now = _digests(own_texts(task))
    for name in {**manifest.own_files, **now}:
        if now.get(name) != manifest.own_files.get(name):
            raise TaskError(_changed(f"{name}, which {specification.task} imports,", folder / "task" / name))
    if text_digest(task.text) != manifest.task_sha256:
        raise TaskError(_changed(specification.task.target, folder / "task.py"))
    return specification


def _changed(what: str, copy: Path) -> str:
    return f"{what}: changed since the run began (its text then: {copy}); put it back, or start a new run"


def _digests(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text_digest(text) for name, text in texts.items()}
