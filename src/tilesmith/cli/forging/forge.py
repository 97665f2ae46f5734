"""`tilesmith forge TASK`: write a faster kernel for a module, and prove it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from tilesmith.cli.forging.forge_options import SETTINGS, forge_options
from tilesmith.cli.output_options import JsonOption, OutputOptions, command_help, runs_folder
from tilesmith.cli.task_options import TASK_HELP, InputsOption, ModeOption, PathOption
from tilesmith.errors import UsageError
from tilesmith.llm.providers import KEY_VARIABLES, OPENAI_BASE_URL, OWN_KEY
from tilesmith.tasks.user_code.task_name import TaskName

_HELP = f"""
Turn a PyTorch module into a Triton kernel that is as accurate and faster.

Seeds, analysis, optimization, repair, tuning, confirmation. Everything is kept in a run folder; the best verified
kernel is its best.py. Examples:

    tilesmith forge examples/softmax.py

    tilesmith forge TASK --model gpt-5 --max-cost 2.50

    tilesmith forge TASK --base-url http://localhost:8000/v1 --model qwen3-coder

    tilesmith forge --resume last

Without a model the playbook writes the kernel: no network, no key. Keys come from the environment only
({", ".join(one for one in KEY_VARIABLES if one != OWN_KEY)};
{OWN_KEY} for --base-url and {OPENAI_BASE_URL}, if the server wants one).

Exit code 0: a kernel passed; 1: none did; 2: the task, the options, the author or this machine are at fault;
3: PyTorch is kept, because the playbook has no recipe for the task, or none that is as fast.
"""
_CHANGEABLE_ON_RESUME = ("model", "provider", "base_url", "price", "retries", "call_timeout", "idle_timeout")
"""What may be another on resume: a mistyped address must not cost a run."""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_HELP))(forge)


@forge_options()
def forge(
    context: typer.Context,
    task: str | None = typer.Argument(None, help=TASK_HELP),
    inputs: InputsOption = None,
    path: PathOption = None,
    train: ModeOption = None,
    resume: str | None = typer.Option(
        None, help="Go on with a run that was stopped or killed: its folder, or last."
    ),
    replay: str | None = typer.Option(None, help="Tell a run again in a new folder, with its replies: no network."),
    runs: Path | None = typer.Option(None, help="Folder the run is made in; TILESMITH_RUNS, else ./runs."),
    as_json: JsonOption = False,
    max_tokens: int | None = typer.Option(None, help="Stop before more are used.", rich_help_panel=SETTINGS),
    max_cost: float | None = typer.Option(
        None, help="Stop before more dollars are spent.", rich_help_panel=SETTINGS
    ),
    max_minutes: float | None = typer.Option(None, help="Stop after this time.", rich_help_panel=SETTINGS),
    **shared: Any,
) -> None:
    from tilesmith.cli.forging.forge_runs import replay_run, resume_run, start_run

    named = TaskName(task, inputs, tuple(map(str, path or ()))) if task else None
    output = OutputOptions(runs_folder(runs), as_json)
    options = {name: value for name, value in context.params.items() if value is not None}
    if resume is not None:
        _refuse_other_options(context, "resume", *_CHANGEABLE_ON_RESUME)
        raise typer.Exit(resume_run(resume, options, output))
    if replay is not None:
        _refuse_other_options(context, "replay", *(["author"] if shared["author"] == "replay" else []), "task")
        raise typer.Exit(replay_run(replay, named, output))
    if named is None:
        raise UsageError("name a task to forge, or --resume RUN; see  tilesmith forge --help")
    raise typer.Exit(start_run(named, options, output))


def _refuse_other_options(context: typer.Context, option: str, *welcome: str) -> None:
    """A resumed or replayed run is configured by its own folder."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if (
            source is not None
            and source.name == "COMMANDLINE"
            and name not in (option, *welcome, "runs", "as_json")
        ):
            shown = "TASK" if name == "task" else f"--{name.replace('_', '-')}"
            raise UsageError(f"--{option} takes everything from the run it names; leave out {shown}")
