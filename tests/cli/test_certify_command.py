"""`tilesmith certify`: a table and a sentence for people, one document for scripts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from rich.console import Console
from warm_commands import run_warm

from tilesmith.cli.certify import show_certificate
from tilesmith.judge.certificates.conclusion import conclusion
from tilesmith.records import Certificate, Outcome, Trial, from_json

ROOT = Path(__file__).parents[2]
SOFTMAX = ROOT / "examples" / "softmax.py"
TRIALS = (
    Trial("zeros", Outcome.KILLED, "own", "relative error 1"),
    Trial("output rounded to bfloat16", Outcome.ALLOWED, None, "within the error budget on 6 kinds of inputs"),
    Trial("initial parameters", Outcome.INAPPLICABLE, None, "the model has no parameters"),
)
SHARP = Certificate("softmax", "key", "cpu", "shrunk", TRIALS)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_warm("certify", *arguments, cwd=ROOT, env=os.environ | {"NO_COLOR": "1", "COLUMNS": "200"})


def shown(certificate: Certificate, everything: bool = True) -> str:
    console = Console(width=160, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    show_certificate(certificate, console, everything)
    return console.export_text()


def test_one_json_document(cache_folder: Path) -> None:
    done = run(SOFTMAX, "--device", "cpu", "--seed", "11", "--json")
    assert done.returncode == 0, done.stderr
    certificate = from_json(Certificate, json.loads(done.stdout))
    assert (certificate.task, certificate.device, certificate.shape) == ("softmax", "cpu", "shrunk")
    assert certificate.blind_to == ()
    assert (cache_folder / "tilesmith" / "certificates" / f"{certificate.key}.json").is_file()


def test_help_has_an_example() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "tilesmith certify examples/softmax.py --all" in done.stdout
    assert all(option in done.stdout for option in ("--device", "--precision", "--refresh", "--json"))


@pytest.mark.parametrize("arguments", [("missing.py",), (SOFTMAX, "--precision", "fp8"), (SOFTMAX, "--k", "0")])
def test_a_bad_task_or_option_is_one_line_and_exit_code_two(arguments: tuple[object, ...]) -> None:
    done = run(*arguments, "--device", "cpu")
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_table_shows_every_cheat_with_its_outcome_and_reason() -> None:
    text = shown(SHARP)
    assert all(part in text for trial in TRIALS for part in (trial.cheat, trial.outcome, trial.detail))


def test_the_summary_comes_first_and_alone_unless_all_is_asked_for() -> None:
    assert shown(SHARP).startswith(conclusion(SHARP))
    brief = shown(SHARP, everything=False)
    assert brief.startswith(conclusion(SHARP))
    assert "output rounded to bfloat16" in brief, "what was not caught is told"
    assert "zeros" not in brief
    assert "--all shows all 3 cheats" in brief


def test_the_conclusion_counts_only_what_could_be_tried() -> None:
    assert conclusion(SHARP) == (
        "softmax: 1 of 2 cheats killed at its shrunk shape on the CPU; 1 within the error budget"
    )


def test_what_had_to_be_added_and_what_cannot_be_told_is_said() -> None:
    note = "this task cannot tell 'a constant' from the truth: the same bit for bit"
    blind = Certificate("ones", "key", "cuda", "exact", TRIALS, ("large", "tiny"), True, (note,))
    assert "also checked on large, tiny inputs" in conclusion(blind)
    assert "further from the initial ones" in conclusion(blind)
    assert note in shown(blind)
