"""`tilesmith certify TASK`: which cheats could the judge tell from the truth on this task?"""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilesmith.cli.output_options import JsonOption, command_help
from tilesmith.cli.task_options import InputsOption, ModeOption, PathOption, TaskArgument, mode_of
from tilesmith.config import CheckConfig
from tilesmith.records import Certificate, Outcome, Trial, to_json

_DEFAULTS = CheckConfig()
_EXAMPLE = """
Show which known cheats the judge can tell from the truth on a task.

Cheats made for the task (zeros, stale outputs, half of the work, a lower precision, ...) go through the judge;
--all shows each of them, on which inputs it was killed and by how much. Examples:

    tilesmith certify examples/softmax.py --all

    tilesmith certify TASK --json | jq '.trials[] | select(.outcome == "survived")'

Checks make the same certificate before they judge a kernel. It is kept in the user's cache folder.

Exit code 0: the certificate is shown, whatever it says; 2: the task, the options or this machine are at fault.
"""
_STYLES = {
    Outcome.KILLED: "green",
    Outcome.SURVIVED: "bold red",
    Outcome.ALLOWED: "yellow",
    Outcome.INAPPLICABLE: "dim",
    Outcome.UNTRIED: "red",
}
_TELLING = (Outcome.SURVIVED, Outcome.ALLOWED, Outcome.UNTRIED)
"""What a reader should know without asking: everything but what was caught or means nothing here."""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_EXAMPLE))(certify)


def certify(
    task: TaskArgument,
    inputs: InputsOption = None,
    path: PathOption = None,
    train: ModeOption = None,
    device: str = typer.Option(_DEFAULTS.device, help="auto, cpu (Triton's interpreter) or cuda."),
    precision: str = typer.Option(_DEFAULTS.precision, help="TF32 in float32 products: default, ieee or tf32."),
    k: float | None = typer.Option(
        _DEFAULTS.k, help="Allowed error as a multiple of PyTorch's own; 2, or 4 where that is TF32's."
    ),
    seed: int = typer.Option(_DEFAULTS.seed, help="Seed of weights and inputs."),
    everything: bool = typer.Option(False, "--all", help="Show every cheat, caught ones too."),
    refresh: bool = typer.Option(False, "--refresh", help="Try the cheats again even if the outcome is known."),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.judge import Judge
    from tilesmith.tasks.user_code.task_name import TaskName

    named = TaskName(task, inputs, tuple(map(str, path or ())))
    config = CheckConfig(device=device, precision=precision, k=k, seed=seed, mode=mode_of(train))
    with Console(stderr=True).status(f"{task}: certificate"), Judge(config) as judge:
        certificate = judge.certify(named, renew=refresh)
    if as_json:
        print(json.dumps(to_json(certificate), indent=2))
    else:
        show_certificate(certificate, Console(), everything)


def show_certificate(certificate: Certificate, console: Console, everything: bool = True) -> None:
    """What it all means first, then what the judge cannot tell; `everything`: every cheat in the order of trial."""
    from tilesmith.judge.certificates.conclusion import conclusion

    console.print(Text(conclusion(certificate)))
    for note in certificate.notes:
        console.print(Text(note, style="red"))
    shown = [one for one in certificate.trials if everything or one.outcome in _TELLING]
    if shown:
        console.print()
        console.print(_table(shown))
    if len(shown) < len(certificate.trials):
        console.print(Text(f"--all shows all {len(certificate.trials)} cheats", style="dim"))


def _table(trials: list[Trial]) -> Table:
    table = Table("cheat", "outcome", "by", "why", box=None, header_style="dim")
    for trial in trials:
        outcome = Text(trial.outcome, style=_STYLES[trial.outcome])
        table.add_row(trial.cheat, outcome, trial.by or "", Text(trial.detail, style="dim"))
    return table
