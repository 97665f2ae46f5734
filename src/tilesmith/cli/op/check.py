"""`tilesmith op check DIR`: one interface, then accuracy, then performance."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from tilesmith.cli.output_options import JsonOption, command_help, print_line, require_ending
from tilesmith.config import CheckConfig

if TYPE_CHECKING:
    from tilesmith.operators.checking import OperatorCheck

_CHECK = CheckConfig()
_HELP = """
Check an operator project: one interface in all four files, then accuracy, and if that passes, performance.

Accuracy is judged in every dtype, on ordinary, long, empty, prime and strided shapes, against float64. Performance
is the speedup over the baseline for real sizes, and needs a GPU. Examples:

    tilesmith op check bias_add

    tilesmith op check bias_add --json | jq .performance.geometric_mean

    tilesmith op check bias_add --report bias_add.html

Exit code 0: right, and the target is met (or not measured: no GPU here); 1: wrong, or the target is missed; 2: the
project is broken (a file is missing, lags behind or was tampered with: the message names it).
"""


def register(group: typer.Typer) -> None:
    group.command("check", help=command_help(_HELP))(check)


def check(
    folder: Path = typer.Argument(help="Folder with operator.toml and the four files."),
    device: str = typer.Option(_CHECK.device, help="auto, cpu (Triton's interpreter) or cuda."),
    target: str = typer.Option(_CHECK.target, "--gpu", help="GPU to compile for when there is none here."),
    timeout_s: float = typer.Option(_CHECK.timeout_s, "--timeout", help="Seconds one step of a kernel may take."),
    timing_s: float = typer.Option(_CHECK.timing_s, help="Seconds of timing rounds for each shape and dtype."),
    report: Path | None = typer.Option(
        None, metavar="FILE", help="Also write what was found as a page to look at."
    ),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.operators.checking import check_project

    require_ending(report, ".html")
    config = CheckConfig(device=device, target=target, timeout_s=timeout_s, timing_s=timing_s)
    with Console(stderr=True).status("reading") as status:
        found = check_project(folder, config, lambda step: status.update(f"{folder.name}: {step}"))
    if report is not None:
        from tilesmith.cli.op.check_page import write_check_page
        from tilesmith.operators.project import read_project

        write_check_page(found, read_project(folder), report)
    if as_json:
        print(json.dumps({**asdict(found), "passed": found.passed}, indent=2))
    else:
        show_check(found, Console())
    raise typer.Exit(0 if found.passed else 1)


def show_check(found: OperatorCheck, console: Console) -> None:
    accuracy, performance = found.accuracy, found.performance
    print_line(f"interface    one in all four files; {found.change}", console)
    if not accuracy.passed:
        print_line(f"accuracy     {accuracy.verdict}: {accuracy.reason}", console)
        return
    errors = accuracy.errors
    ratio = f"; error {errors.ratio:.2g} times PyTorch's" if errors and errors.ratio is not None else ""
    print_line(f"accuracy     right in {len(accuracy.cases)} cases{ratio}", console)
    for note in accuracy.notes:
        if not note.startswith("not timed"):
            print_line(f"             {note}", console)
    if performance is None:
        return
    for one in performance.calls:
        if one.kernel_ms is None or one.baseline_ms is None:
            print_line(f"             {one.dtype} {one.sizes}: PyTorch is kept", console)
            continue
        speed = f"{one.gigabytes_per_s:,.0f} GB/s" if one.gigabytes_per_s else ""
        share = f"{one.share_of_peak:.0%} of peak" if one.share_of_peak else ""
        times = f"{one.kernel_ms:.4f} ms against {one.baseline_ms:.4f} ms"
        interval = f"{one.speedup:.2f}x ({one.low:.2f} to {one.high:.2f})"
        print_line(f"             {one.dtype} {one.sizes}: {interval}, {times}, {speed}, {share}", console)
    print_line(f"performance  {performance.reason}", console)
