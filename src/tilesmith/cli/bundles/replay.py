"""`tilesmith replay BUNDLE`: does the claim of a bundle hold on this machine?"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from tilesmith.cli.output_options import JsonOption, command_help
from tilesmith.config import CheckConfig
from tilesmith.records import Evaluation, to_json

if TYPE_CHECKING:
    from tilesmith.runs.bundling.bundles import Bundle

_EXAMPLE = """
Check the claim in a bundle: judge its kernel again on this machine, and compare.

First every file must be, byte by byte, what was bundled. Then the judge that made the claim judges the kernel by
the same configuration and seeds, and times it where there is a GPU. Examples:

    tilesmith replay 2026-05-01-softmax-1.tilesmith.zip

    tilesmith replay claim.tilesmith.zip --seed 7 --json | jq .outcome

The kernel runs behind the sandbox's walls; the task runs as you, so read it first if you do not trust its maker.
(To forge anew with the recorded replies of a run, use  tilesmith forge --replay RUN.)

Exit code 0: the claim holds, if by less, or its values do where there is no GPU; 1: the claim fails; 2: the bundle
was changed or cannot be read, or this machine is at fault.
"""
_INPUTS = {
    True: "as they were where the claim was made, by their digests",
    False: "other numbers than where the claim was made, though the seed is the same: another device draws others",
}


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_EXAMPLE))(replay)


def replay(
    bundle: Path = typer.Argument(metavar="BUNDLE", help="File that `tilesmith bundle` made."),
    seed: int | None = typer.Option(
        None, min=0, max=2**63 - 1, help="Seed of weights, inputs and schedules, in place of the claim's."
    ),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.runs.bundling.bundles import config_to_repeat, read_bundle
    from tilesmith.runs.bundling.claims import ClaimOutcome, compare_claim

    read = read_bundle(bundle)
    config = config_to_repeat(read, seed)
    here = _judge_again(read, config)
    compared = compare_claim(read.evaluation, here)
    if as_json:
        document = {"bundle": str(bundle), "run": read.manifest.run, **to_json(compared)}
        print(json.dumps(document | {"claim": to_json(read.manifest.claim), "evaluation": to_json(here)}, indent=2))
    else:
        lines = (
            f"{bundle.name}: all {len(read.files)} files are as they were bundled, by their sha256",
            f"claimed  {_summary(read.evaluation)}",
            f"here     {_summary(here)}",
            f"judged   with seed {config.seed}{_unusual(config)}",
            *([f"inputs   {_INPUTS[compared.same_inputs]}"] if compared.same_inputs is not None else []),
            compared.told,
        )
        for line in lines:  # a stranger's words
            print("".join(filter(str.isprintable, line)))
    raise typer.Exit(1 if compared.outcome is ClaimOutcome.FAILS else 0)


def _judge_again(bundle: Bundle, config: CheckConfig) -> Evaluation:
    """Judges best.py, which people get; without a GPU what its author wrote, if best.py wants larger shapes."""
    from tilesmith.judge import Judge
    from tilesmith.runs.bundling.bundles import unpack

    with (
        tempfile.TemporaryDirectory(prefix="tilesmith-") as folder,
        Console(stderr=True).status("starting") as status,
        Judge(config) as judge,
    ):
        unpacked = unpack(bundle, Path(folder))
        is_exact = judge.device == "cpu" and bundle.evaluation.generality != "general"
        kernel = unpacked.kernel if is_exact else unpacked.best
        return judge.check(unpacked.task, kernel, lambda gate: status.update(f"{kernel.name}: {gate}"))


def _summary(evaluation: Evaluation) -> str:
    from tilesmith.report.number_text import ratio_text
    from tilesmith.runs.bundling.claims import claim_of, speeds_text

    claim = claim_of(evaluation)
    ratio = claim.errors.ratio if claim.errors else None
    error = f", error {ratio_text(ratio)} times PyTorch's" if ratio is not None else ""
    return f"{claim.verdict} on {claim.device}{error}; {speeds_text(claim.speedup) or 'not timed'}"


def _unusual(config: CheckConfig) -> str:
    """What a claim was judged by that is not the usual: a lenient judge proves little."""
    usual = asdict(CheckConfig())
    asked = {name: value for name, value in asdict(config).items() if name != "seed" and value != usual[name]}
    return "".join(f", {name} {value} (usually {usual[name]})" for name, value in asked.items())
