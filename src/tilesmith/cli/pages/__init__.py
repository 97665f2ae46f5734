"""Commands that show runs in a browser."""

import typer

from tilesmith.cli.pages import report, serve


def register(app: typer.Typer) -> None:
    report.register(app)
    serve.register(app)
