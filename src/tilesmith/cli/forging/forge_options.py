"""The options of commands that forge: who writes, how much is tried, how it is judged."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from tilesmith.authors.author_choice import AUTHORS, AuthorChoice, choose_author
from tilesmith.cli.task_options import TIMEOUT_HELP, mode_of
from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.forge.settings import DEFAULT_EFFORT, EFFORTS, ForgeSettings, settings_for
from tilesmith.llm.endpoint_choice import BASE_URL, LlmOptions
from tilesmith.llm.prices import dollars, parse_price
from tilesmith.llm.providers import OPENAI_BASE_URL, PROVIDERS
from tilesmith.records import Usage

Options = Mapping[str, Any]
Command = TypeVar("Command", bound=Callable[..., None])
CHECK = CheckConfig()
_LLM, SETTINGS, _JUDGE = "The author", "How much is tried (each overrides --effort)", "The judge"


def _llm(help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=_LLM, **more)


def _setting(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=SETTINGS, **more)


def _judge(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_JUDGE)


class _ForgeOptions:
    """The options of whatever forges, as typer wants them."""

    author: Annotated[str, _llm(f"{', '.join(AUTHORS)}.")] = AUTHORS[0]
    model: Annotated[str | None, _llm("Model, or PROVIDER/MODEL; TILESMITH_MODEL.")] = None
    provider: Annotated[str | None, _llm(f"{', '.join(PROVIDERS)}.")] = None
    base_url: Annotated[str | None, _llm(f"Any OpenAI-compatible endpoint; {BASE_URL}, {OPENAI_BASE_URL}.")] = None
    price: Annotated[str | None, _llm("Dollars per million tokens: IN,OUT.")] = None
    retries: Annotated[int | None, _llm("Times a failing call is tried again.")] = None
    call_timeout: Annotated[float | None, _llm("Seconds a call may take.")] = None
    idle_timeout: Annotated[float | None, _llm("Seconds a call may be silent.")] = None
    playbook: Annotated[
        bool | None,
        typer.Option(
            "--playbook/--no-playbook",
            help="A model's run starts from the playbook's kernel and plan, which cost nothing.",
            rich_help_panel=_LLM,
            show_default="playbook",
        ),
    ] = None
    effort: Annotated[str, _setting(help=f"{', '.join(EFFORTS)}.")] = DEFAULT_EFFORT
    seeds: Annotated[int | None, _setting(help="First versions, asked for at once.")] = None
    rounds: Annotated[int | None, _setting(help="Rounds of analysis and optimization.")] = None
    repairs: Annotated[int | None, _setting(help="Tries to repair a failing kernel.")] = None
    spare_repairs: Annotated[
        int | None, _setting(help="Tries to repair a failing seed when another passed, or a failing stage.")
    ] = None
    tuning_s: Annotated[float | None, _setting(help="Seconds of measuring tunings of the playbook's kernels.")] = (
        None
    )
    stages: Annotated[str | None, _setting(help="auto, all, none, or some of grid,block,memory.")] = None
    patience: Annotated[int | None, _setting(help="Rounds without gain to go on for.")] = None
    min_gain: Annotated[
        float | None, _setting(help="How many times faster a kernel must be to count as better.")
    ] = None
    target_speedup: Annotated[float | None, _setting(help="Stop when reached.")] = None
    max_output_tokens: Annotated[int | None, _setting(help="Per call.")] = None
    sanitize: Annotated[
        bool | None,
        _setting(
            "--sanitize/--no-sanitize",
            help="The winner also faces compute-sanitizer's memcheck and racecheck (GPU only); part of thorough.",
        ),
    ] = None
    confirm: Annotated[
        bool | None, _setting("--confirm/--no-confirm", help="Judge the winner again, fresh, unseen seed.")
    ] = None
    device: Annotated[str, _judge(help="auto, cpu or cuda.")] = CHECK.device
    target: Annotated[str, _judge(help="GPU to compile for without one.")] = CHECK.target
    precision: Annotated[str, _judge(help="default, ieee or tf32.")] = CHECK.precision
    k: Annotated[float | None, _judge(help="Allowed error as a multiple of PyTorch's; 2, or 4 in TF32.")] = CHECK.k
    seed: Annotated[int, _judge(help="Seed of weights and inputs.")] = CHECK.seed
    timeout: Annotated[float, _judge(help=TIMEOUT_HELP)] = CHECK.timeout_s
    timing_s: Annotated[float, _judge(help="Seconds of timing rounds.")] = CHECK.timing_s
    require_sandbox: Annotated[bool, _judge("--require-sandbox", help="Only behind every wall.")] = (
        CHECK.require_sandbox
    )


def forge_options(*names: str) -> Callable[[Command], Command]:
    """Gives these options, or all of them, to a command that takes them as `**options`."""
    kinds = get_type_hints(_ForgeOptions, include_extras=True)

    def with_options(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True)
        parameters = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        for name in names or kinds:
            default = getattr(_ForgeOptions, name)
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=kinds[name]))
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return with_options


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
