"""`tilesmith mcp`: the commands as tools for coding agents, over stdio."""

from __future__ import annotations

from pathlib import Path

import typer

from tilesmith.cli.output_options import command_help, runs_folder
from tilesmith.errors import MachineError

HELP = """
Serve these commands to a coding agent, as tools of the Model Context Protocol on stdin and stdout.

The agent starts it and gets the tools check, lint, explain, certify, plan, forge and runs. It needs
pip install 'tilesmith\\[mcp]'. Examples:

    claude mcp add tilesmith -- tilesmith mcp --root .

    tilesmith mcp --root kernels

The tools name files inside --root only. A task's own code runs with your rights, as in every other command.

Exit code 0: the agent has hung up; 2: wrong use, or the package is missing.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(HELP))(mcp)


def mcp(
    root: Path = typer.Option(Path(), help="Folder in which tools may name files."),
    runs: Path | None = typer.Option(None, help="Folder of runs; TILESMITH_RUNS, else runs in the root."),
) -> None:
    try:
        from tilesmith.mcp.server import serve
    except ModuleNotFoundError as missing:
        raise MachineError(
            f"an MCP server needs the package {missing.name}: pip install 'tilesmith[mcp]'"
        ) from None
    from tilesmith.mcp.workspace import open_workspace

    serve(open_workspace(root, runs_folder(runs)))
