"""Where a suite is worked on, for every command that has one."""

from __future__ import annotations

from typing import Annotated

import typer

_WHERE = "On a Ray cluster"

OnOption = Annotated[
    str, typer.Option(metavar="here|ray", help="This machine, or a Ray cluster.", rich_help_panel=_WHERE)
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(help="Of the cluster; RAY_ADDRESS, or the one on this machine.", rich_help_panel=_WHERE),
]
GpuKindOption = Annotated[
    str | None,
    typer.Option(help="GPUs whose name has this in it, and no others.", rich_help_panel=_WHERE),
]
