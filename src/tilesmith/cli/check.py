"""`tilesmith check TASK KERNEL`: is this kernel right, and is it faster?"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from tilesmith.cli.output_options import JsonOption, command_help, require_ending
from tilesmith.cli.suite.cluster_options import GpuKindOption, OnOption, RayAddressOption
from tilesmith.cli.task_options import (
    TASK_HELP,
    TIMEOUT_HELP,
    InputsOption,
    ModeOption,
    PathOption,
    mode_of,
)
from tilesmith.config import CheckConfig
from tilesmith.errors import TilesmithError, UsageError
from tilesmith.records import Evaluation, to_json
from tilesmith.tasks.user_code.task_name import TaskName

_DEFAULTS = CheckConfig()
_SUITE = "A folder of kernels"
_EXAMPLE = """
Judge a kernel against the PyTorch module it replaces: is it right, and is it faster?

Looks at values against float64, memory safety, determinism and, on a GPU, speed against eager, a CUDA graph and
torch.compile. Examples:

    tilesmith check examples/softmax.py examples/kernels/softmax.py

    tilesmith check package.module:Norm kernel.py --inputs package.batches:make_batch --path src

    tilesmith check TASK KERNEL --json | jq .verdict

    tilesmith check TASK KERNEL --report verdict.html

    tilesmith check TASK kernels/*.py --json

    tilesmith check --suite KernelBench/runs/my-model --tasks KernelBench/KernelBench --out suites/my-model

With --suite every kernel of a folder is judged against its task: kernels named as KernelBench names them
(level_1_problem_2_sample_0_kernel.py), or as their task is. It makes the page of a suite, with pass@k and fast_p,
and the same command with the same --out goes on where it stopped.

Exit code 0: the kernel passed, or every kernel of a suite has a verdict; 1: it failed, or one of several did; 2:
the task, the options or this machine are at fault.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_EXAMPLE))(check)


def check(
    task: Annotated[str | None, typer.Argument(help=TASK_HELP, show_default=False)] = None,
    kernels: Annotated[
        list[Path] | None,
        typer.Argument(metavar="KERNEL...", help="Python files with ModelNew.", show_default=False),
    ] = None,
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
    suite: Path | None = typer.Option(
        None, metavar="DIR", help="Judge all kernels in a folder.", rich_help_panel=_SUITE
    ),
    tasks: str | None = typer.Option(None, metavar="DIR", help="The tasks they are for.", rich_help_panel=_SUITE),
    out: Path | None = typer.Option(
        None, metavar="DIR", help="Folder of the results; suites/DATE-NAME.", rich_help_panel=_SUITE
    ),
    jobs: int | None = typer.Option(
        None, help="Kernels at once; as many as the machine has cores for.", rich_help_panel=_SUITE
    ),
    on: OnOption = "here",
    ray_address: RayAddressOption = None,
    gpu_kind: GpuKindOption = None,
    as_json: JsonOption = False,
) -> None:
    require_ending(report, ".html")
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
    if suite is not None:
        from tilesmith.cli.suite.suite_runs import Session, choose_cluster, judge_kernels
        from tilesmith.suite.records import SuiteLimits

        if task or kernels or report:
            raise UsageError("--suite judges a folder of kernels: leave out TASK, KERNEL and --report")
        if inputs is not None:
            raise UsageError("--inputs: is for one task; the tasks of --suite each have their own get_inputs")
        if tasks is None:
            raise UsageError("--suite: name the folder of the tasks, too, with --tasks DIR")
        session = Session(SuiteLimits(), jobs, (), choose_cluster(on, ray_address, gpu_kind), as_json)
        folders = tuple(map(str, path or ()))
        raise typer.Exit(judge_kernels(suite, tasks, folders, config, out, session))
    if tasks or out or jobs or on != "here" or ray_address or gpu_kind:
        raise UsageError("--tasks, --out, --jobs and --on are for a folder of kernels: name it with --suite")
    if task is None or not kernels:
        raise UsageError("name a task and a kernel, or --suite DIR --tasks DIR; see  tilesmith check --help")
    for missing in (one for one in kernels if not one.is_file()):  # before others are judged for minutes
        why = "is a directory; name the kernel's .py file inside it" if missing.is_dir() else "no such file"
        raise UsageError(f"{missing}: cannot read the kernel: {why}")
    if report is not None and len(kernels) > 1:
        raise UsageError("--report: is the page of one verdict, and there are several kernels; leave it out")
    evaluations = _judge(TaskName(task, inputs, tuple(map(str, path or ()))), kernels, config, as_json)
    if report is not None:
        from tilesmith.report import write_verdict_report

        write_verdict_report(report, Path(task).name, kernels[0], evaluations[0])
    if as_json:
        told = [to_json(one) for one in evaluations]
        named = [{"kernel": str(kernel), **one} for kernel, one in zip(kernels, told, strict=True)]
        print(json.dumps(told[0] if len(told) == 1 else named, indent=2))
    raise typer.Exit(0 if all(one.passed for one in evaluations) else 1)


def _judge(task: TaskName, kernels: list[Path], config: CheckConfig, as_json: bool) -> list[Evaluation]:
    """One after the other by one judge, each shown as soon as it is known."""
    from tilesmith.cli.display.evaluation_display import show_evaluation
    from tilesmith.judge import Judge

    evaluations = []
    with Console(stderr=True).status("starting") as status, Judge(config) as judge:
        for kernel in kernels:
            tell = partial(_tell_gate, status, kernel.name)
            evaluations.append(judge.check(task, kernel, progress=tell))
            if not as_json:
                show_evaluation(evaluations[-1], Path(str(task)), kernel, Console())
    return evaluations


def _tell_gate(status: Status, kernel: str, gate: str) -> None:
    status.update(f"{kernel}: {gate}")


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
