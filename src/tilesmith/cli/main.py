"""The command line: one small file per command, listed here."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

import typer

from tilesmith import __version__
from tilesmith.errors import TilesmithError

app = typer.Typer(
    name="tilesmith",
    help="Turns PyTorch modules into Triton GPU kernels that are as accurate and faster, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

for _command in ("check", "doctor", "lint"):
    import_module(f"tilesmith.cli.{_command}").register(app)


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


def main() -> None:
    """Exit 0: done. 1: the kernel failed. 2: wrong use, bad input or our own failure, in one line."""
    try:
        app()
    except TilesmithError as error:
        if "--json" in sys.argv:
            print(json.dumps({"error": str(error)}))
        print(f"tilesmith: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("tilesmith: interrupted", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("TILESMITH_TRACEBACK"):
            raise
        told = f"{type(error).__name__}: {error}"
        print(f"tilesmith: our own failure: {told} (TILESMITH_TRACEBACK=1 shows where)", file=sys.stderr)
        sys.exit(2)
