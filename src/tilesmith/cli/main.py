"""The command line: one small file per command, listed here."""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import NoReturn

import typer

from tilesmith import __version__
from tilesmith.cli.output_options import command_help
from tilesmith.errors import TilesmithError

HELP = """
Turns PyTorch modules into Triton GPU kernels that are as accurate and faster, and proves it.

TASK is a Python file with Model, get_inputs and get_init_inputs; KERNEL is one with ModelNew. Examples:

    tilesmith forge TASK            write a faster kernel; --model: by an LLM
    tilesmith check TASK KERNEL     is this kernel right, and is it faster?
    tilesmith lint KERNEL           what is wrong with it, without running it
    tilesmith certify TASK          which cheats the judge can tell
    tilesmith plan TASK             what would become a kernel, and why
    tilesmith suite DIR             forge many tasks; compare two suites
    tilesmith scan MODEL            where the time of a whole model goes
    tilesmith capture MODEL --out D make tasks of the modules inside it
    tilesmith runs show last        what the last forge tried, and why
    tilesmith report last           the same as a page to look at
    tilesmith serve --open          all runs in a browser, as they go on
    tilesmith study story last      the same as a case study; seeds, ablation
    tilesmith bundle last           its claim in one file, for others
    tilesmith replay BUNDLE         does that claim hold on this machine?
    tilesmith doctor                what this machine can do
    tilesmith mcp --root .          the same as tools for a coding agent
    tilesmith op new NAME --from F  an operator: kernel, reference and tests

--json gives one JSON document on stdout; what goes wrong is {"error": ...} and one line on stderr.

Exit codes: 0 done, or the kernel passed; 1 it failed, or nothing passed; 2 wrong use, bad input or a failure of the
machine; 3 PyTorch is kept, because nothing would be faster.
"""
app = typer.Typer(
    name="tilesmith",
    help=command_help(HELP),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

INTERRUPTED = 130
"""What typer makes of Ctrl-C."""
COMMANDS = (
    *(
        "forge",
        "check",
        "certify",
        "lint",
        "plan",
        "scan",
        "capture",
        "runs",
        "report",
        "serve",
        "bundle",
        "replay",
    ),
    *("doctor", "mcp", "op", "study", "suite"),
)
_FOLDERS = {"forge": "forging.", "bundle": "bundles.", "replay": "bundles.", "serve": "runs."}
for _command in COMMANDS:
    import_module(f"tilesmith.cli.{_FOLDERS.get(_command, '')}{_command}").register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tilesmith {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Shared options."""


def _fail(message: str) -> NoReturn:
    """Wrong use or bad input: one line, and one JSON document where that was asked for."""
    if "--json" in sys.argv:
        print(json.dumps({"error": message}))
    print(f"tilesmith: {message}", file=sys.stderr)
    sys.exit(2)


def _explain_wrong_use(error: Exception) -> None:
    """Typer's own errors, known by what they can do: their module moved between releases."""
    if hasattr(error, "show") and type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(2)
    if hasattr(error, "format_message"):
        _fail(f"{error.format_message().rstrip('.')}; see  tilesmith {_command_name(error)}--help")


def _command_name(error: Exception) -> str:
    """The command that was typed, down to `runs show`, for its own help."""
    names, context = "", getattr(error, "ctx", None)
    while context is not None and context.parent is not None:
        names, context = f"{context.info_name} {names}", context.parent
    return names


def _end_by_signal(number: int, frame: FrameType | None) -> NoReturn:
    """SIGTERM ends us as Ctrl-C does, so that nothing is left behind; a second one changes nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """The exit codes are those of the help text; 2 comes with one line that says what to do."""
    signal.signal(signal.SIGTERM, _end_by_signal)
    try:
        code = app(prog_name="tilesmith", standalone_mode=False) or 0
    except TilesmithError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        _explain_wrong_use(error)
        if os.environ.get("TILESMITH_TRACEBACK"):
            raise
        _fail(f"our own failure: {type(error).__name__}: {error} (TILESMITH_TRACEBACK=1 shows where)")
    if code == INTERRUPTED:
        _fail("interrupted")
    sys.exit(code)
