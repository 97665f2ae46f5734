"""`tilesmith check TASK KERNEL`: is this kernel right, and is it faster?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tilesmith.cli.output_options import command_help, require_ending
from tilesmith.cli.task_options import (
    TIMEOUT_HELP,
    InputsOption,
    ModeOption,
    PathOption,
    TaskArgument,
    mode_of,
)
from tilesmith.config import CheckConfig
from tilesmith.errors import TilesmithError, UsageError
from tilesmith.records import to_json

_DEFAULTS = CheckConfig()
_EXAMPLE = """
Judge a kernel against the PyTorch module it replaces: is it right, and is it faster?

Looks at values against float64, memory safety, determinism and, on a GPU, speed against eager, a CUDA graph and
torch.compile. Examples:

    tilesmith check examples/softmax.py examples/kernels/softmax.py

    tilesmith check package.module:Norm kernel.py --inputs package.batches:make_batch --path src

    tilesmith check TASK KERNEL --json | jq .verdict

    tilesmith check TASK KERNEL --report verdict.html

Exit code 0: the kernel passed; 1: it failed; 2: the task, the options or this machine are at fault.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_EXAMPLE))(check)


def check(
    task: TaskArgument,
    kernel: Annotated[Path, typer.Argument(help="Python file with ModelNew.")],
    inputs: InputsOption = None,
    path: PathOption = None,
    train: ModeOption = None,
    device: str = typer.Option(_DEFAULTS.device, help="auto, cpu (Triton's interpreter) or cuda."),
    target: str = typer.Option(_DEFAULTS.target, help="GPU to compile for when there is none here."),
    precision: str = typer.Option(_DEFAULTS.precision, help="TF32 in float32 products: default, ieee or tf32."),
    k: float | None = typer.Option(
        _DEFAULTS.k, help="Allowed error as a multiple of PyTorch's own; 2, or 4 where that is TF32's."
    ),
    seed: int = typer.Option(_DEFAULTS.seed, help="Seed of weights, inputs and schedules."),
    timeout_s: float = typer.Option(_DEFAULTS.timeout_s, "--timeout", help=TIMEOUT_HELP),
    timing: bool = typer.Option(_DEFAULTS.timing, help="Measure speed (GPU only)."),
    timing_s: float = typer.Option(_DEFAULTS.timing_s, help="Seconds the timing rounds may take."),
    require_general: bool = typer.Option(_DEFAULTS.require_general, help="Fail if other shapes do not work."),
    sanitize: bool = typer.Option(
        _DEFAULTS.sanitize, help="Also run compute-sanitizer's memcheck and racecheck (GPU only)."
    ),
    require_sandbox: bool = typer.Option(
        _DEFAULTS.require_sandbox, "--require-sandbox", help="Judge nothing unless every wall stands; see doctor."
    ),
    report: Path | None = typer.Option(None, metavar="FILE", help="Also write the verdict as a page to look at."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout, all else on stderr."),
) -> None:
    from tilesmith.cli.display.evaluation_display import show_evaluation
    from tilesmith.judge import Judge
    from tilesmith.tasks.user_code.task_name import TaskName

    require_ending(report, ".html")
    named = TaskName(task, inputs, tuple(map(str, path or ())))
    config = CheckConfig(
        device=device,
        target=target,
        precision=precision,
        k=k,
        seed=seed,
        timeout_s=timeout_s,
        timing=timing,
        timing_s=timing_s,
        require_general=require_general,
        sanitize=sanitize,
        require_sandbox=require_sandbox,
        mode=mode_of(train),
    )
    errors = Console(stderr=True)
    with errors.status("starting") as status, Judge(config) as judge:
        evaluation = judge.check(named, kernel, progress=lambda gate: status.update(f"{kernel.name}: {gate}"))
    if report is not None:
        from tilesmith.report import write_verdict_report

        write_verdict_report(report, Path(task).name, kernel, evaluation)
    if as_json:
        print(json.dumps(to_json(evaluation), indent=2))
    else:
        show_evaluation(evaluation, Path(task), kernel, Console())
    raise typer.Exit(0 if evaluation.passed else 1)


def check_best(file: str) -> None:
    """What `python best.py` does: judges the file against the task that lies beside it, and prints one line."""
    from tilesmith.judge import Judge

    kernel = Path(file).resolve()
    task = kernel.parent / "task.py"
    try:
        if not task.exists():
            raise UsageError(f"{kernel.name}: task.py is not beside it; run  tilesmith check TASK {kernel.name}")
        with Judge(_DEFAULTS) as judge:
            evaluation = judge.check(task, kernel)
    except TilesmithError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    print(f"{kernel.name}: {evaluation.verdict}: {evaluation.reason}")
    raise SystemExit(0 if evaluation.passed else 1)
