"""`tilesmith capture TASK --where PATTERN --out DIR`: task files of the modules inside a model."""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from tilesmith.cli.output_options import JsonOption, command_help
from tilesmith.cli.task_options import InputsOption, ModelModeOption, PathOption, TaskArgument, mode_of
from tilesmith.errors import TaskError, UsageError
from tilesmith.process.protocol.named_model import CapturedGroup, CaptureModel, WriteTask
from tilesmith.records import to_json

_HELP = """
Write task files of the modules inside a model, one for each group of equal calls.

The model is called once. The files are what forge and check take; they hold no weights, and need the model's
package only where code looks at values of tensors. Examples:

    tilesmith capture package.model:make_model --inputs package.batches:make_batch --eval --out tasks

    tilesmith capture package.model:Model --path src --where "blocks.*.norm?" --where "*.act" --out tasks

    tilesmith forge tasks/rmsnorm_blocks_0_norm1.py

The model is built and called in a process of its own, with your environment and outside of the sandbox. Files that
capture wrote are written anew unless they were changed; all others in the folder stay.

Exit code 0: files were written; 2: none, because the model, its inputs, the options or this machine are at fault.
"""
_MARK = "\n# Written by tilesmith capture, which writes it anew unless it was changed: "
_MOST_NAMES = 3


class _Captured(NamedTuple):
    """What one call of the model gave, by the files it is meant for."""

    texts: dict[Path, str]
    groups: dict[Path, CapturedGroup]
    left_out: list[tuple[tuple[str, ...], str]]
    """Names of modules, and why there is no task of them."""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_HELP))(capture)


def capture(
    task: TaskArgument,
    out: Annotated[Path, typer.Option(help="Folder for the task files; made where there is none.")],
    inputs: InputsOption = None,
    path: PathOption = None,
    train: ModelModeOption = None,
    where: list[str] = typer.Option(None, help="Pattern of the names of modules (every module); may be repeated."),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.tasks.source import read_task
    from tilesmith.tasks.user_code.task_name import TaskName

    source = replace(read_task(TaskName(task, inputs, tuple(map(str, path or ())))), mode=mode_of(train))
    found = _run(CaptureModel(source, tuple(where or ())), out)
    for names, why in found.left_out:
        print(f"left out: {_shown(names)}: {why}", file=sys.stderr)
    if not found.texts:
        raise TaskError(f"{task}: none of the modules can be made a task: {found.left_out[0][1]}")
    _write(out, found.texts)
    if as_json:
        tasks = [{"path": str(file), **to_json(group)} for file, group in found.groups.items()]
        left_out = [{"names": names, "reason": why} for names, why in found.left_out]
        print(json.dumps({"tasks": tasks, "left_out": left_out}, indent=2))
        return
    for file, group in found.groups.items():
        times = "once" if group.calls == 1 else f"{group.calls} times"
        print(f"{file}: {group.call} at {_shown(group.names)}: called {times}")


def _run(request: CaptureModel, folder: Path) -> _Captured:
    from tilesmith.cli.named_model import open_model

    found = _Captured({}, {}, [])
    with Console(stderr=True).status(f"calling {request.task.name}") as status, open_model() as model:
        captured = model.ask(request)
        found.left_out.extend(((name,), why) for name, why in captured.refused.items())
        for number, group in enumerate(captured.groups):
            status.update(f"{group.call} ({number + 1} of {len(captured.groups)})")
            made = model.ask(WriteTask(number))
            if made.text is None:
                found.left_out.append((group.names, str(made.reason)))
            else:
                file = _unused(folder, made.file_name, found.texts)
                found.texts[file], found.groups[file] = made.text, group
    return found


def _unused(folder: Path, name: str, taken: Iterable[Path]) -> Path:
    numbered = (folder / f"{name}{f'_{number}' if number > 1 else ''}.py" for number in itertools.count(1))
    return next(path for path in numbered if path not in taken)


def _shown(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(name or "the model itself" for name in names[:_MOST_NAMES]) + more


def _write(folder: Path, texts: dict[Path, str]) -> None:
    """All files or none: nothing is written while one of them is somebody else's."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in texts:
            if path.exists() and not _is_ours(path.read_text(encoding="utf-8", errors="replace")):
                raise UsageError(
                    f"{path}: not written by capture, or changed since: move it away, or choose another --out"
                )
        for path, text in texts.items():
            path.write_text(_signed(text), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}; choose another --out") from None


def _signed(text: str) -> str:
    return f"{text}{_MARK}{hashlib.sha256(text.encode()).hexdigest()[:16]}\n"


def _is_ours(text: str) -> bool:
    body, found, _ = text.rpartition(_MARK)
    return bool(found) and text == _signed(body)
