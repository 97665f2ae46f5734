"""`tilesmith op export` and `tilesmith op import`: operators for other homes, and from one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer

from tilesmith.cli.output_options import command_help
from tilesmith.errors import UsageError
from tilesmith.records import to_json

EXPORT_HELP = """Write an operator project the way another home wants it. Nothing is run.

Examples:

    tilesmith op export bias_add --to flaggems --out ~/FlagGems

    tilesmith op export bias_add --to torch-library --out ops

    tilesmith op export bias_add --to module --out packages --json

`flaggems`: operator, test, benchmark, entry of the inventory, and the lines that register it. `torch-library`: a
package that registers the operator with torch.library, and its test. `module`: a plain package. `kernelgen`:
KernelGen's four files. Every file says what it came from and what was verified.

Exit code 0: written, and op check has passed for what was written; 1: written, but not verified; 2: the project is
broken, or a file of yours is in the way (--force replaces it).
"""
IMPORT_HELP = """Make an operator project of the four files that KernelGen hands out. Nothing is run.

Examples:

    tilesmith op import ~/Downloads/relu

    tilesmith op import ~/Downloads/broadcast --shape "x=...,N" --shape bias=N --sizes "...=37,N=53"

The interface comes from the signature, shapes and dtypes from the tests; both tests are written anew, for the
project's. What the files do not say is asked for in one line.

Exit code 0: written; 2: a file is missing or broken, something cannot be derived, or a file of yours is in the way.
"""
_FORCE = typer.Option(False, "--force", help="Replace files that are there already.")
_JSON = typer.Option(False, "--json", help="One JSON document on stdout, all else on stderr.")


def register(group: typer.Typer) -> None:
    group.command("export", help=command_help(EXPORT_HELP))(export_operator)
    group.command("import", help=command_help(IMPORT_HELP))(import_operator)


def export_operator(
    folder: Path = typer.Argument(..., metavar="DIR", help="The operator project."),
    to: str = typer.Option(..., "--to", help="flaggems, torch-library, module or kernelgen."),
    out: Path = typer.Option(..., "--out", metavar="DIR", help="Where the files go, for flaggems a checkout."),
    force: bool = _FORCE,
    as_json: bool = _JSON,
) -> None:
    from tilesmith.operators.exchange.exporting import export_project

    done = export_project(folder, to, out, force)
    if as_json:
        print(json.dumps(to_json(done), indent=2))
    else:
        for name in done.files:
            print(out / name)
        print(done.verified)
    if not done.is_verified:
        print(f"tilesmith: not verified: run  tilesmith op check {folder}  and export again", file=sys.stderr)
        raise typer.Exit(1)


def import_operator(
    folder: Path = typer.Argument(..., metavar="DOWNLOAD", help="The folder with the four files."),
    out: Path = typer.Option(None, "--out", metavar="DIR", help="The project's folder; ./<op> by default."),
    name: str = typer.Option(None, "--name", help="The operator, where the file's name is not the function's."),
    shape: list[str] = typer.Option(None, "--shape", metavar="NAME=SIZES", help="A tensor's shape: bias=N."),
    sizes: list[str] = typer.Option(None, "--sizes", metavar="NAME=SIZE,...", help="A case to test: M=37,N=53."),
    value: list[str] = typer.Option(None, "--value", metavar="NAME=VALUE", help="A scalar to test with: eps=1e-5."),
    force: bool = _FORCE,
    as_json: bool = _JSON,
) -> None:
    from tilesmith.operators.exchange.download import Hints
    from tilesmith.operators.exchange.importing import import_project

    hints = Hints(
        name=name,
        shapes={key: tuple(_size(one) for one in text.split(",")) for key, text in map(_pair, shape or ())},
        sizes=tuple(dict(map(_named_size, one.split(","))) for one in sizes or ()),
        values={key: _plain_value(text) for key, text in map(_pair, value or ())},
    )
    done = import_project(folder, out, hints, force)
    if as_json:
        print(json.dumps(to_json(done), indent=2))
        return
    print(f"{done.out}: {done.signature}")
    for note in done.notes:
        print(f"assumed: {note}")
    print(f"next: tilesmith op check {done.out}")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals and value.strip()):
        raise UsageError(f"'{text}' is not NAME=VALUE; for example --shape bias=N")
    return key.strip(), value.strip()


def _size(text: str) -> str | int:
    return int(text) if text.strip().isdigit() else text.strip()


def _named_size(text: str) -> tuple[str, int | tuple[int, ...]]:
    """`N=53`, and `...=2x3` for leading sizes."""
    key, value = _pair(text)
    parts = value.split("x")
    if not all(part.isdigit() for part in parts) or (len(parts) > 1 and key != "..."):
        raise UsageError(f"'{text}' is no size; for example --sizes M=37,N=53 or --sizes ...=2x3,N=53")
    return key, tuple(map(int, parts)) if key == "..." else int(value)


def _plain_value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, float | int | bool) else text
