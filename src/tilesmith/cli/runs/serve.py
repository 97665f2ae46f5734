"""`tilesmith serve`: the runs of a folder in a browser, while they go on."""

from __future__ import annotations

import contextlib
import json
import threading
import webbrowser

import typer

from tilesmith.cli.output_options import FolderOption, JsonOption, command_help, existing_folder
from tilesmith.errors import MachineError

_HELP = """
Show the runs of a folder in a browser, while they go on: a list to search, the page of each, two side by side.

It prints one address, listens on 127.0.0.1 only and ends with Ctrl-C. Whoever has the address with its token can
look at the runs, and nobody can change them; nothing that a kernel holds is run. Needs pip install
'tilesmith\\[serve]'. Examples:

    tilesmith serve --open

    tilesmith serve --runs study/runs --port 8400

    tilesmith serve --json | jq --unbuffered -r .address

Exit code 0: it was ended; 2: wrong use, the port is taken, or the package is missing.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_HELP))(serve)


def serve(
    folder: FolderOption = None,
    port: int = typer.Option(0, min=0, max=65535, help="Port on 127.0.0.1; 0: any free one."),
    show: bool = typer.Option(False, "--open", help="Open the address in a browser."),
    as_json: JsonOption = False,
) -> None:
    try:
        from tilesmith.serve.server import RunsServer
    except ModuleNotFoundError as missing:
        raise MachineError(
            f"the live page needs the package {missing.name}: pip install 'tilesmith[serve]'"
        ) from None

    runs = existing_folder(folder)
    server = RunsServer(runs, port)
    document = {"address": server.address, "port": server.port, "runs": str(runs)}
    print(json.dumps(document) if as_json else server.address, flush=True)
    if show:
        threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
