"""`tilesmith op new NAME`: an operator project from a definition."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from tilesmith.cli.output_options import VARIABLE, JsonOption, command_help, print_line, runs_folder
from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.forge.settings import EFFORTS

if TYPE_CHECKING:
    from tilesmith.authors.author_choice import AuthorChoice
    from tilesmith.operators.definition import Definition
    from tilesmith.operators.forging import Workshop
    from tilesmith.operators.making import MadeProject

_CHECK = CheckConfig()
_HELP = """
Make an operator project: a kernel, its PyTorch reference and the tests of both, from a definition.

The definition is a Python file with one typed function and a PyTorch body, an expression over torch's names, or,
with an LLM, a sentence. The kernel comes from the author, the playbook or an LLM; the rest comes from the
definition alone. Examples:

    tilesmith op new bias_add --from examples/operators/bias_add.py

    tilesmith op new scaled --expr "F.hardswish(x) * scale" --scalar scale

    tilesmith op new scaled --expr "x * scale" --shapes "x=M,N; scale=N" --dtypes float32,float16

    tilesmith op new bias_add --update       after a change of operator.toml or of the baseline

Exit code 0: the kernel is right; 1: it is not; 2: the definition, the options or this machine are at fault; 3:
PyTorch is kept, because the author has no kernel: the other files are written, and the kernel is yours to write.
"""


def register(group: typer.Typer) -> None:
    group.command("new", help=command_help(_HELP))(new)


def new(
    name: str = typer.Argument(help="The operator and its function."),
    definition: Path | None = typer.Option(None, "--from", help="Python file with the function."),
    expr: str | None = typer.Option(None, help="Expression; its free names are the parameters, in order."),
    words: str | None = typer.Option(None, help="What it computes, in words, for an LLM to define."),
    scalar: list[str] | None = typer.Option(
        None, help="A name in --expr that is a number, or NAME=VALUE for the value of tests; may be repeated."
    ),
    shapes: str | None = typer.Option(None, help='Shapes of tensors: "x=M,N; bias=N"; "..." is any sizes.'),
    dtypes: str | None = typer.Option(None, help="Dtypes of tensors: float32,float16; of one alone: mask=bool."),
    target: float | None = typer.Option(None, help="Speedup over PyTorch that is wanted (1)."),
    out: Path | None = typer.Option(None, help="Folder of the project (./NAME)."),
    update: bool = typer.Option(False, "--update", help="Write the files of an existing project anew."),
    model: str | None = typer.Option(None, help="LLM that writes the kernel; TILESMITH_MODEL."),
    provider: str | None = typer.Option(None, help="Whose model it is."),
    base_url: str | None = typer.Option(None, help="Any OpenAI-compatible endpoint."),
    effort: str = typer.Option("quick", help=f"How much the forge tries: {', '.join(EFFORTS)}."),
    device: str = typer.Option(_CHECK.device, help="auto, cpu or cuda."),
    runs: Path | None = typer.Option(None, help="Keep the forge's run here; TILESMITH_RUNS. An LLM's: ./runs."),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.authors.author_choice import choose_author
    from tilesmith.forge.settings import settings_for
    from tilesmith.llm.endpoint_choice import LlmOptions
    from tilesmith.operators.forging import Workshop

    console = Console(stderr=True)
    told = partial(print_line, console=console)
    author = choose_author("auto", LlmOptions(model, provider, base_url), os.environ)
    given = {"from": definition, "expr": expr, "words": words}
    given = {kind: one for kind, one in given.items() if one is not None}
    if len(given) > 1 or (not given and not update):
        raise UsageError("say what it computes by one of --from, --expr, --words; see  tilesmith op new --help")
    if not given and (shapes or dtypes or target is not None):
        raise UsageError("--update takes shapes, dtypes and the target from operator.toml: change them there")
    if scalar and expr is None:
        raise UsageError("--scalar says which names of --expr are numbers; a definition has annotations for that")
    found = _changed(_defined(name, given, scalar or (), author, told), shapes, dtypes, target) if given else None
    is_kept = author.endpoint is not None or runs is not None or bool(os.environ.get(VARIABLE))
    with contextlib.ExitStack() as stack:
        kept = runs_folder(runs) if is_kept else Path(stack.enter_context(TemporaryDirectory(prefix="tilesmith-")))
        status = stack.enter_context(console.status("reading"))
        progress = lambda line: status.update(Text(f"{name}: {line}"))  # noqa: E731
        workshop = Workshop(author, settings_for(effort), CheckConfig(device=device), kept, told, progress)
        made = _made(name, out or Path(name), found, update, workshop)
    _show(made if is_kept else replace(made, runs=()), as_json)
    if made.keeps_pytorch:
        raise typer.Exit(3)
    raise typer.Exit(0 if made.accuracy and made.accuracy.passed else 1)


def _defined(
    name: str, given: Mapping[str, Any], scalars: Sequence[str], author: AuthorChoice, tell: Callable[[str], None]
) -> Definition:
    if "from" in given:
        from tilesmith.operators.definition import read_definition

        return read_definition(given["from"], name)
    if "expr" in given:
        from tilesmith.operators.definition import define_expression

        return define_expression(name, given["expr"], scalars)
    from tilesmith.operators.words import define_in_words

    return define_in_words(name, given["words"], author, tell)


def _made(name: str, folder: Path, found: Definition | None, update: bool, workshop: Workshop) -> MadeProject:
    from tilesmith.operators.making import make_project, update_project

    if found is None or update:
        return update_project(name, folder, found, workshop)
    return make_project(found, folder, workshop)


def _changed(found: Definition, shapes: str | None, dtypes: str | None, target: float | None) -> Definition:
    from tilesmith.operators.definition import parse_shapes, with_dtypes, with_shapes

    if shapes:
        found = with_shapes(found, parse_shapes(shapes))
    if dtypes:
        found = with_dtypes(found, dtypes.split(","))
    return found if target is None else replace(found, operator=replace(found.operator, target=target))


def _show(made: MadeProject, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(made), indent=2))
        return
    console, file = Console(), f"{Path(made.folder) / made.operator}_triton.py"
    print_line(f"wrote   {made.folder}: {', '.join(made.files)}", console)
    for run in made.runs:
        print_line(f"run     {run}", console)
    print_line(f"kernel  {made.why}", console)
    if made.accuracy is None:
        print_line(f"next    write {file}, then  tilesmith op check {made.folder}", console)
    elif made.accuracy.passed:
        print_line(f"check   {made.accuracy.reason}", console)
        print_line(f"next    tilesmith op tune {made.folder}", console)
    else:
        print_line(f"check   {made.accuracy.verdict}: {made.accuracy.reason}", console)
        print_line(f"next    mend {file}, then  tilesmith op check {made.folder}", console)
