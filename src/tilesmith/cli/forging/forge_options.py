"""The options of commands that forge: who writes, how much is tried, how it is judged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import typer

from tilesmith.authors.author_choice import AUTHORS, AuthorChoice, choose_author
from tilesmith.cli.task_options import TIMEOUT_HELP, mode_of
from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.forge.settings import EFFORTS, ForgeSettings, settings_for
from tilesmith.llm.endpoint_choice import BASE_URL, LlmOptions
from tilesmith.llm.prices import dollars, parse_price
from tilesmith.llm.providers import OPENAI_BASE_URL, PROVIDERS
from tilesmith.records import Usage

Options = Mapping[str, Any]
CHECK = CheckConfig()
_LLM, SETTINGS, _JUDGE = "The author", "How much is tried (each overrides --effort)", "The judge"


def _llm(help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=_LLM, **more)


def _setting(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=SETTINGS, **more)


def _judge(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_JUDGE)


AuthorOption = Annotated[str, _llm(f"{', '.join(AUTHORS)}.")]
ModelOption = Annotated[str | None, _llm("Model, or PROVIDER/MODEL; TILESMITH_MODEL.")]
ProviderOption = Annotated[str | None, _llm(f"{', '.join(PROVIDERS)}.")]
BaseUrlOption = Annotated[str | None, _llm(f"Any OpenAI-compatible endpoint; {BASE_URL}, {OPENAI_BASE_URL}.")]
PriceOption = Annotated[str | None, _llm("Dollars per million tokens: IN,OUT.")]
RetriesOption = Annotated[int | None, _llm("Times a failing call is tried again.")]
CallTimeoutOption = Annotated[float | None, _llm("Seconds a call may take.")]
IdleTimeoutOption = Annotated[float | None, _llm("Seconds a call may be silent.")]
PlaybookOption = Annotated[
    bool | None,
    typer.Option(
        "--playbook/--no-playbook",
        help="A model's run starts from the playbook's kernel and plan, which cost nothing.",
        rich_help_panel=_LLM,
        show_default="playbook",
    ),
]

EffortOption = Annotated[str, _setting(help=f"{', '.join(EFFORTS)}.")]
SeedsOption = Annotated[int | None, _setting(help="First versions, asked for at once.")]
RoundsOption = Annotated[int | None, _setting(help="Rounds of analysis and optimization.")]
RepairsOption = Annotated[int | None, _setting(help="Tries to repair a failing kernel.")]
SpareRepairsOption = Annotated[
    int | None, _setting(help="Tries to repair a failing seed when another passed, or a failing stage.")
]
TuningOption = Annotated[float | None, _setting(help="Seconds of measuring tunings of the playbook's kernels.")]
StagesOption = Annotated[str | None, _setting(help="auto, all, none, or some of grid,block,memory.")]
PatienceOption = Annotated[int | None, _setting(help="Rounds without gain to go on for.")]
MinGainOption = Annotated[float | None, _setting(help="How many times faster a kernel must be to count as better.")]
TargetSpeedupOption = Annotated[float | None, _setting(help="Stop when reached.")]
MaxOutputTokensOption = Annotated[int | None, _setting(help="Per call.")]
SanitizeOption = Annotated[
    bool | None,
    _setting(
        "--sanitize/--no-sanitize",
        help="The winner also faces compute-sanitizer's memcheck and racecheck (GPU only); thorough includes it.",
    ),
]
ConfirmOption = Annotated[
    bool | None, _setting("--confirm/--no-confirm", help="Judge the winner again, fresh, unseen seed.")
]

DeviceOption = Annotated[str, _judge(help="auto, cpu or cuda.")]
TargetOption = Annotated[str, _judge(help="GPU to compile for without one.")]
PrecisionOption = Annotated[str, _judge(help="default, ieee or tf32.")]
FactorOption = Annotated[float | None, _judge(help="Allowed error as a multiple of PyTorch's; 2, or 4 in TF32.")]
SeedOption = Annotated[int, _judge(help="Seed of weights and inputs.")]
TimeoutOption = Annotated[float, _judge(help=TIMEOUT_HELP)]
TimingOption = Annotated[float, _judge(help="Seconds of timing rounds.")]
RequireSandboxOption = Annotated[bool, _judge("--require-sandbox", help="Only behind every wall.")]


@dataclass(frozen=True)
class ForgeChoice:
    """What those options say together."""

    author: AuthorChoice
    check: CheckConfig
    settings: ForgeSettings


def forge_choice(options: Options) -> ForgeChoice:
    """Raises UsageError for what makes no sense together."""
    from tilesmith.judge.machine.devices import choose_device

    author = author_of(options)
    check = CheckConfig(**{one.name: options[one.name] for one in fields(CheckConfig) if one.name in options})
    check = replace(check, timeout_s=options["timeout"], mode=mode_of(options.get("train")))
    chosen = {name: value for name, value in options.items() if name != "effort"}
    settings = settings_for(options["effort"], **chosen)
    if author.kind == "playbook" and not settings.playbook:
        raise UsageError("--no-playbook: the playbook is the author here; name another with --model")
    if choose_device(check.device) == "cpu" and settings.target_speedup is not None:
        raise UsageError("--target-speedup: nothing is timed without a GPU, so it could never be met")
    return ForgeChoice(author, check, settings)


def author_of(options: Options) -> AuthorChoice:
    llm = LlmOptions(options.get("model"), options.get("provider"), options.get("base_url"))
    if options["author"] == "playbook" and llm != LlmOptions():
        raise UsageError("--author playbook asks no model: leave out --model, --provider and --base-url")
    return with_call_limits(choose_author(options["author"], llm, os.environ), options)


def with_call_limits(author: AuthorChoice, options: Options) -> AuthorChoice:
    named = {"retries": "retries", "call_timeout": "call_timeout_s", "idle_timeout": "idle_timeout_s"}
    limits = {field: options[option] for option, field in named.items() if option in options}
    price = parse_price(options["price"]) if "price" in options else author.price
    return replace(author, price=price, **limits)


def require_price(max_cost: float | None, author: AuthorChoice) -> None:
    """Money can be limited only where a price is known."""
    if max_cost is None or author.endpoint is None:
        return
    if dollars(author.endpoint, Usage(1000, 1000), author.price) is None:
        raise UsageError(
            f"--max-cost: the price of {author.endpoint.model} is unknown; add --price IN,OUT, or use --max-tokens"
        )
