"""Commands that show runs in a browser."""

import typer

from tilesmith.cli.pages import report


def register(app: typer.Typer) -> None:
    report.register(app)
