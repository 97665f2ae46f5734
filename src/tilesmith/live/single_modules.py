"""`check`, `forge` and `lint`: one module or one file at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilesmith.config import CheckConfig
from tilesmith.errors import TaskError, UsageError
from tilesmith.judge import Judge
from tilesmith.lint import LintReport
from tilesmith.lint.files import lint_file, read_task_facts
from tilesmith.live.forging import ForgeResult, run_one
from tilesmith.live.optimization_settings import Config
from tilesmith.live.user_arguments import require_config, require_example
from tilesmith.records import Evaluation
from tilesmith.tasks.user_code.task_name import TaskName

if TYPE_CHECKING:
    from torch import nn


def check(
    module: nn.Module,
    kernel: str | Path,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    init: Sequence[Any] = (),
    config: CheckConfig | None = None,
) -> Evaluation:
    """Judges a kernel's file against a live module on an example call.

    ModelNew is made with `init` (numbers, strings, None, and lists of these), keeps the module's tensors under
    their own names, and takes the tensors among the arguments one by one; what it must compute is the text of
    `tilesmith.capture`.
    """
    from tilesmith.live.captured.module_tasks import write_task

    require_example(module, args, kwargs)
    require_config(config, CheckConfig)
    try:
        task = write_task(module, tuple(args), dict(kwargs or {}), (), tuple(init))
    except TaskError as error:
        raise TaskError(f"{type(module).__name__}: {error}") from None
    with tempfile.TemporaryDirectory(prefix="tilesmith-check-") as folder:
        path = Path(folder) / f"{type(module).__name__.lower()}.py"
        path.write_text(task.text, encoding="utf-8")
        with Judge(config or CheckConfig()) as judge:
            return judge.check(path, Path(kernel))


def forge(task: str | Path | TaskName, config: Config | None = None, **settings: Any) -> ForgeResult:
    """Writes a faster kernel for a task, a file or a module: `forge("task.py", effort="quick")`."""
    require_config(config, Config)
    if config is not None and settings:
        raise UsageError("forge takes a Config or settings, not both")
    unknown = settings.keys() - {one.name for one in fields(Config)}
    if unknown:
        raise UsageError(f"forge has no setting {min(unknown)}; see tilesmith.Config")
    name = task if isinstance(task, TaskName) else TaskName(str(task))
    return run_one(name, config or Config(**{"where": "*", **settings}))


def lint(kernel: str | Path, task: str | Path | None = None) -> LintReport:
    """What a static reading of a kernel's file has to say; with its task, more."""
    return lint_file(Path(kernel), read_task_facts(TaskName(str(task)) if task is not None else None)).report
