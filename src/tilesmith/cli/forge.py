"""`tilesmith forge TASK`: write a faster kernel for a module, and prove it."""

from __future__ import annotations

from pathlib import Path

import typer

from tilesmith.authors.author_choice import AUTHORS
from tilesmith.cli.output_options import OutputOptions, command_help, runs_folder
from tilesmith.cli.task_options import TASK_HELP, TIMEOUT_HELP, InputsOption, ModeOption, PathOption
from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.forge.settings import DEFAULT_EFFORT, EFFORTS
from tilesmith.llm.endpoint_choice import BASE_URL
from tilesmith.llm.providers import KEY_VARIABLES, OPENAI_BASE_URL, OWN_KEY, PROVIDERS
from tilesmith.tasks.user_code.task_name import TaskName

_CHECK = CheckConfig()
_HELP = f"""
Turn a PyTorch module into a Triton kernel that is as accurate and faster.

Seeds, analysis, optimization, repair, tuning, confirmation. Everything is kept in a run folder; the best verified
kernel is its best.py. Examples:

    tilesmith forge examples/softmax.py

    tilesmith forge TASK --model gpt-5 --max-cost 2.50

    tilesmith forge TASK --base-url http://localhost:8000/v1 --model qwen3-coder

    tilesmith forge --resume last

Without a model the playbook writes the kernel: no network, no key. Keys come from the environment only
({", ".join(one for one in KEY_VARIABLES if one != OWN_KEY)};
{OWN_KEY} for --base-url and {OPENAI_BASE_URL}, if the server wants one).

Exit code 0: a kernel passed; 1: none did; 2: the task, the options, the author or this machine are at fault;
3: PyTorch is kept, because the playbook has no recipe for the task, or none that is as fast.
"""
_CHANGEABLE_ON_RESUME = ("model", "provider", "base_url", "price", "retries", "call_timeout", "idle_timeout")
"""What may be another on resume: a mistyped address must not cost a run."""
_LLM, _SETTINGS, _JUDGE = "The author", "How much is tried (each overrides --effort)", "The judge"


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_HELP))(forge)


def forge(
    context: typer.Context,
    task: str | None = typer.Argument(None, help=TASK_HELP),
    inputs: InputsOption = None,
    path: PathOption = None,
    train: ModeOption = None,
    resume: str | None = typer.Option(
        None, help="Go on with a run that was stopped or killed: its folder, or last."
    ),
    replay: str | None = typer.Option(None, help="Tell a run again in a new folder, with its replies: no network."),
    runs: Path | None = typer.Option(None, help="Folder the run is made in; TILESMITH_RUNS, else ./runs."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout, all else on stderr."),
    author: str = typer.Option(AUTHORS[0], help=f"{', '.join(AUTHORS)}.", rich_help_panel=_LLM),
    model: str | None = typer.Option(None, help="Model, or PROVIDER/MODEL; TILESMITH_MODEL.", rich_help_panel=_LLM),
    provider: str | None = typer.Option(None, help=f"{', '.join(PROVIDERS)}.", rich_help_panel=_LLM),
    base_url: str | None = typer.Option(
        None, help=f"Any OpenAI-compatible endpoint; {BASE_URL}, {OPENAI_BASE_URL}.", rich_help_panel=_LLM
    ),
    price: str | None = typer.Option(None, help="Dollars per million tokens: IN,OUT.", rich_help_panel=_LLM),
    retries: int | None = typer.Option(None, help="Times a failing call is tried again.", rich_help_panel=_LLM),
    call_timeout: float | None = typer.Option(None, help="Seconds a call may take.", rich_help_panel=_LLM),
    idle_timeout: float | None = typer.Option(None, help="Seconds a call may be silent.", rich_help_panel=_LLM),
    playbook: bool | None = typer.Option(
        None,
        "--playbook/--no-playbook",
        help="A model's run starts from the playbook's kernel and plan, which cost nothing.",
        rich_help_panel=_LLM,
        show_default="playbook",
    ),
    effort: str = typer.Option(DEFAULT_EFFORT, help=f"{', '.join(EFFORTS)}.", rich_help_panel=_SETTINGS),
    seeds: int | None = typer.Option(None, help="First versions, asked for at once.", rich_help_panel=_SETTINGS),
    rounds: int | None = typer.Option(None, help="Rounds of analysis and optimization.", rich_help_panel=_SETTINGS),
    repairs: int | None = typer.Option(None, help="Tries to repair a failing kernel.", rich_help_panel=_SETTINGS),
    spare_repairs: int | None = typer.Option(
        None,
        help="Tries to repair a failing seed when another passed, or a failing stage.",
        rich_help_panel=_SETTINGS,
    ),
    tuning_s: float | None = typer.Option(
        None, help="Seconds of measuring tunings of the playbook's kernels.", rich_help_panel=_SETTINGS
    ),
    stages: str | None = typer.Option(
        None, help="auto, all, none, or some of grid,block,memory.", rich_help_panel=_SETTINGS
    ),
    patience: int | None = typer.Option(None, help="Rounds without gain to go on for.", rich_help_panel=_SETTINGS),
    min_gain: float | None = typer.Option(
        None, help="How many times faster a kernel must be to count as better.", rich_help_panel=_SETTINGS
    ),
    target_speedup: float | None = typer.Option(None, help="Stop when reached.", rich_help_panel=_SETTINGS),
    max_tokens: int | None = typer.Option(None, help="Stop before more are used.", rich_help_panel=_SETTINGS),
    max_cost: float | None = typer.Option(
        None, help="Stop before more dollars are spent.", rich_help_panel=_SETTINGS
    ),
    max_minutes: float | None = typer.Option(None, help="Stop after this time.", rich_help_panel=_SETTINGS),
    max_output_tokens: int | None = typer.Option(None, help="Per call.", rich_help_panel=_SETTINGS),
    sanitize: bool | None = typer.Option(
        None,
        "--sanitize/--no-sanitize",
        help="The winner also faces compute-sanitizer's memcheck and racecheck (GPU only); thorough includes it.",
        rich_help_panel=_SETTINGS,
    ),
    confirm: bool | None = typer.Option(
        None,
        "--confirm/--no-confirm",
        help="Judge the winner again, fresh, unseen seed.",
        rich_help_panel=_SETTINGS,
    ),
    device: str = typer.Option(_CHECK.device, help="auto, cpu or cuda.", rich_help_panel=_JUDGE),
    target: str = typer.Option(_CHECK.target, help="GPU to compile for without one.", rich_help_panel=_JUDGE),
    precision: str = typer.Option(_CHECK.precision, help="default, ieee or tf32.", rich_help_panel=_JUDGE),
    k: float | None = typer.Option(
        _CHECK.k, help="Allowed error as a multiple of PyTorch's; 2, or 4 in TF32.", rich_help_panel=_JUDGE
    ),
    seed: int = typer.Option(_CHECK.seed, help="Seed of weights and inputs.", rich_help_panel=_JUDGE),
    timeout: float = typer.Option(_CHECK.timeout_s, help=TIMEOUT_HELP, rich_help_panel=_JUDGE),
    timing_s: float = typer.Option(_CHECK.timing_s, help="Seconds of timing rounds.", rich_help_panel=_JUDGE),
    require_sandbox: bool = typer.Option(
        _CHECK.require_sandbox, "--require-sandbox", help="Only behind every wall.", rich_help_panel=_JUDGE
    ),
) -> None:
    from tilesmith.cli.forge_runs import replay_run, resume_run, start_run

    named = TaskName(task, inputs, tuple(map(str, path or ()))) if task else None
    output = OutputOptions(runs_folder(runs), as_json)
    options = {name: value for name, value in context.params.items() if value is not None}
    if resume is not None:
        _refuse_other_options(context, "resume", *_CHANGEABLE_ON_RESUME)
        raise typer.Exit(resume_run(resume, options, output))
    if replay is not None:
        _refuse_other_options(context, "replay", *(["author"] if author == "replay" else []), "task")
        raise typer.Exit(replay_run(replay, named, output))
    if named is None:
        raise UsageError("name a task to forge, or --resume RUN; see  tilesmith forge --help")
    raise typer.Exit(start_run(named, options, output))


def _refuse_other_options(context: typer.Context, option: str, *welcome: str) -> None:
    """A resumed or replayed run is configured by its own folder."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if (
            source is not None
            and source.name == "COMMANDLINE"
            and name not in (option, *welcome, "runs", "as_json")
        ):
            shown = "TASK" if name == "task" else f"--{name.replace('_', '-')}"
            raise UsageError(f"--{option} takes everything from the run it names; leave out {shown}")
