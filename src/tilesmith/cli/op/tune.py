"""`tilesmith op tune DIR`: change constants, check, measure, record."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path

import typer
from rich.console import Console

from tilesmith.cli.output_options import JsonOption, command_help, print_line
from tilesmith.config import CheckConfig

_CHECK = CheckConfig()
_HELP = """
Tune an operator: tiles, rows, warps, stages and cache hints, checked and measured, until the target is met.

Only NAME_triton.py is changed, and only for what is right and faster; history.md keeps what was tried. Without a
GPU the compiler alone is asked. Examples:

    tilesmith op tune bias_add

    tilesmith op tune bias_add --autotune      the winners as @triton.autotune configurations, keyed by shape

    tilesmith op tune bias_add --dispatch      constants by shape, and PyTorch where it wins

Exit code 0: the target is met, or nothing can be measured here; 1: it is missed, or the kernel is wrong; 2: the
project is broken, or the options make no sense.
"""


def register(group: typer.Typer) -> None:
    group.command("tune", help=command_help(_HELP))(tune)


def tune(
    folder: Path = typer.Argument(help="Folder with operator.toml and the four files."),
    autotune: bool = typer.Option(False, "--autotune", help="Write the winners as configurations."),
    dispatch: bool = typer.Option(False, "--dispatch", help="Write a choice by shape, PyTorch included."),
    seconds: float = typer.Option(60.0, help="For compiling and timing."),
    model: str | None = typer.Option(None, help="LLM whose suggestions are tried too; TILESMITH_MODEL."),
    provider: str | None = typer.Option(None, help="Whose model it is."),
    base_url: str | None = typer.Option(None, help="Any OpenAI-compatible endpoint."),
    device: str = typer.Option(_CHECK.device, help="auto, cpu or cuda."),
    target: str = typer.Option(_CHECK.target, "--gpu", help="GPU to compile for when there is none here."),
    timing_s: float = typer.Option(_CHECK.timing_s, help="Seconds of timing rounds for each shape and dtype."),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.authors.author_choice import choose_author
    from tilesmith.errors import UsageError
    from tilesmith.llm.endpoint_choice import LlmOptions
    from tilesmith.operators.tuning.suggestions import suggest_tunings
    from tilesmith.operators.tuning.tuner import TuneOptions, tune_project

    if autotune and dispatch:
        raise UsageError("--autotune and --dispatch are two ways to choose by shape: take one")
    if seconds <= 0:
        raise UsageError(f"--seconds {seconds:g}: the search needs some time, as --seconds 60")
    author, errors = choose_author("auto", LlmOptions(model, provider, base_url), os.environ), Console(stderr=True)
    told = partial(print_line, console=errors)
    options = TuneOptions(seconds, autotune, dispatch, lambda text: suggest_tunings(text, author, told))
    config = CheckConfig(device=device, target=target, timing_s=timing_s)
    with errors.status("reading") as status:
        found = tune_project(folder, config, options, lambda step: status.update(f"{folder.name}: {step}"))
    if as_json:
        print(json.dumps(asdict(found), indent=2))
    else:
        console = Console()
        print_line(f"before   {found.before}{_mean(found.mean_before)}", console)
        print_line(f"after    {found.after}{_mean(found.mean_after)}", console)
        if found.tried:
            print_line(f"tried    {found.tried} configurations: {found.history}", console)
        print_line(f"result   {found.why}", console)
    raise typer.Exit(0 if found.right and found.target_met is not False else 1)


def _mean(mean: float | None) -> str:
    return "" if mean is None else f": {mean:.3f} times PyTorch"
