"""`tilesmith runs` as people and scripts use it, on real run folders."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest
from sample_run import EVENTS, make_run, manifest
from warm_commands import run_warm

from tilesmith.runs import Status

GRU, SOFTMAX, RELU = "2026-05-01-39_GRU-1", "2026-05-02-softmax-1", "2026-05-03-relu-1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, one that was killed, one that is damaged."""
    parent = tmp_path_factory.mktemp("forged") / "runs"
    done = make_run(parent)
    done.set_status(Status.FINISHED, "done")
    done.close()
    make_run(parent, EVENTS[:12], manifest("softmax", "2026-05-02T10:00:00+00:00", "playbook")).close()
    damaged = make_run(parent, (), manifest("relu", "2026-05-03T10:00:00+00:00"))
    damaged.close()
    (damaged.path / "run.json").write_text("{")
    return parent


def run(folder: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("TILESMITH_RUNS", "COLUMNS")}
    environment |= {"NO_COLOR": "1"} | variables
    return run_warm("runs", *arguments, cwd=folder.parent, env=environment)


def printed(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    return done.stdout


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """One line on stderr, and nothing but an error document on stdout."""
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_runs_are_listed_newest_first_with_what_is_wrong_below(folder: Path) -> None:
    lines = printed(run(folder)).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == [RELU, SOFTMAX, GRU]
    assert lines[2].split() == [SOFTMAX, "softmax", "playbook", "interrupted", "2", "kernel", "2,", "0.12x"]
    assert lines[3].split() == [GRU, "39_GRU", "gpt-x", "finished", "5", "kernel", "4,", "1.36x", "faster"]
    assert "run.json: cannot be read" in lines[4]


def test_a_listing_for_programs(folder: Path) -> None:
    _, softmax, gru = json.loads(printed(run(folder, "--json")))
    assert (softmax["run"], softmax["status"], softmax["faster"]) == (SOFTMAX, "interrupted", None)
    assert (gru["run"], gru["score"], gru["verdicts"], gru["faster"]) == (GRU, 1.36, 5, True)
    assert gru["author"] == "gpt-x"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--task", "GRU"), [GRU]),
        (("--status", "interrupted"), [SOFTMAX]),
        (("--author", "playbook"), [SOFTMAX]),
        (("--since", "2026-05-02"), [RELU, SOFTMAX]),
        (("--faster",), [GRU]),
        (("--task", "nothing"), []),
        (("--verdict", "wrong_values"), [GRU]),
        (("--min-speedup", "1.2"), [GRU]),
        (("--search", "playbook softmax"), [SOFTMAX]),
        (("--model", "gpt-x"), []),
    ],
)
def test_filters_of_the_command(folder: Path, options: tuple[str, ...], found: list[str]) -> None:
    assert [one["run"] for one in json.loads(printed(run(folder, "--json", *options)))] == found


def test_where_runs_are_looked_for(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "here"
    elsewhere.mkdir()
    assert GRU in printed(run(elsewhere, "--runs", folder))
    assert GRU in printed(run(elsewhere, TILESMITH_RUNS=str(folder)))
    assert "`tilesmith forge TASK` makes one" in printed(run(elsewhere))
    assert json.loads(printed(run(elsewhere, "--json"))) == []
    assert GRU in printed(run(elsewhere, "--runs", folder, "show", GRU))
    assert GRU in printed(run(elsewhere, "show", GRU, "--runs", folder))


def test_a_variable_that_names_no_folder_is_one_line(folder: Path) -> None:
    told = refused(run(folder, TILESMITH_RUNS="nowhere"))
    assert "nowhere: no such folder; TILESMITH_RUNS names it" in told
    assert "TILESMITH_RUNS names it" in refused(run(folder, "show", "last", TILESMITH_RUNS="nowhere"))


def test_a_verdict_fits_on_a_page_when_it_is_piped(folder: Path) -> None:
    lines = printed(run(folder, "show", GRU, "--verdict", 3)).splitlines()
    assert "wrong_values" in lines[0]
    assert max(map(len, lines)) == 100


def test_show_tells_the_whole_run(folder: Path) -> None:
    text = printed(run(folder, "show", "2026-05-01"))
    for told in (
        "NVIDIA GeForce RTX 4090, torch 2.6.0, triton 3.3.0, python 3.11",
        "seeds 3, rounds 3",
        "kernel 1  seed  compile_error  dropped: 'h_prev[k_ids]': use tl.load",
        "findings: time-loop-on-host",
        "seed (call 3) refused: cut off by the token limit",
        "analysis (call 5) of no use: not a JSON object",
        "to do: one persistent kernel (persistent, 2.5x expected)",
        "kernel 4  repair  passed  1.37x  kept: faster than the best so far: 1.37x after 0.12x  best",
        "stage grid: skipped",
        "confirmation: passed 1.36x",
        "kernel 4 is right, and 1.36x as fast as its best baseline",
    ):
        assert told in text
    rows = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
    assert rows["seed"] == ["3", "26,100", "68", "0", "26,168", "$0.0300", "8.0"]
    assert rows["total"] == ["9", "60,873", "668", "0", "61,541", "at", "least", "$0.0800", "20.0"]


def test_children_hang_below_their_parents(folder: Path) -> None:
    lines = printed(run(folder, "show", GRU)).splitlines()
    column = {
        number: next(line.index(f"kernel {number}") for line in lines if f"kernel {number}  " in line)
        for number in range(1, 6)
    }
    assert column[1] == column[2] < column[3] < column[4] < column[5]


def test_show_says_how_to_go_on_with_a_killed_run(folder: Path) -> None:
    text = printed(run(folder, "show", SOFTMAX))
    assert "the best so far is kernel 2, 0.12x; go on with  tilesmith forge --resume" in text


def test_show_for_programs(folder: Path) -> None:
    document = json.loads(printed(run(folder, "show", GRU, "--json")))
    assert json.loads(printed(run(folder, "--json", "show", GRU))) == document
    assert (document["best"], document["score"], document["status"]) == (4, 1.36, "finished")
    assert [step["event"] for step in document["steps"]].count("attempt") == 5
    assert document["spent"]["usage"]["dollars"] is None
    assert document["spent"]["known_dollars"] == pytest.approx(0.08)
    assert document["spent_by_phase"]["seed"]["calls"] == 3


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--kernel", "# kernel 3\n"),
        ("--prompt", "You write kernels.\n\n---\n\nprompt 3\n"),
        ("--reply", "reply 3\n"),
    ],
)
def test_the_texts_of_a_run(folder: Path, option: str, text: str) -> None:
    assert printed(run(folder, "show", GRU, option, 3)) == text
    document = json.loads(printed(run(folder, "show", GRU, option, 3, "--json")))
    assert document[option.removeprefix("--")] == 3
    assert document["text"].rstrip() == text.rstrip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "2026-05-01-39_GRU-7"), f"did you mean {GRU}"),
        (("show", "2026"), "write more of the name"),
        (("show", RELU), "cannot be read"),
        (("show", GRU, "--kernel", "9"), "no kernel 9; it has 1 to 5"),
        (("show", GRU, "--reply", "0"), "no reply 0; it has 1 to 9"),
        (("show", GRU, "--reply", "1", "--kernel", "1"), "choose one"),
        (("show",), "see  tilesmith runs show --help"),
        (("show", "--nothing"), "see  tilesmith runs show --help"),
        (("--nothing",), "see  tilesmith runs --help"),
        (("list",), "see  tilesmith runs --help"),
        (("--runs", "nowhere"), "nowhere: no such folder"),
        (("--since", "may"), "YYYY-MM-DD"),
        (("--status", "done"), "use running"),
        (("--task", "x", "show", GRU), "show takes runs by name; leave out"),
        (("--verdict", "x"), "unknown verdict 'x'"),
        (("--min-speedup", "nan"), "use a number greater than zero"),
        (("compare", GRU), "see  tilesmith runs compare --help"),
        (("compare", GRU, "nothing"), "no run 'nothing'"),
        (("compare", GRU, RELU), "cannot be read"),
        (("export",), "--csv FILE"),
        (("export", "--csv", "-", "--json"), "both want stdout"),
        (("export", "--csv", "no/such/folder.csv"), "cannot be written"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_wrong_use_of_runs_is_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(run(folder, *arguments))


def test_an_error_for_programs(folder: Path) -> None:
    done = run(folder, "show", "nothing", "--json")
    assert "no run 'nothing'" in refused(done)
    assert "no run 'nothing'" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize(
    ("command", "example"),
    [
        ((), "tilesmith runs show last"),
        (("show",), "tilesmith runs show last"),
        (("compare",), "tilesmith runs compare 2026-05-01 last --json"),
        (("export",), "tilesmith runs export --csv runs.csv"),
    ],
    ids=["runs", "show", "compare", "export"],
)
def test_help_has_examples(folder: Path, command: tuple[str, ...], example: str) -> None:
    text = printed(run(folder, *command, "--help"))
    assert example in text
    assert "--json" in text


def test_compare_puts_two_runs_side_by_side(folder: Path) -> None:
    lines = printed(run(folder, "compare", GRU, SOFTMAX)).splitlines()
    rows = {line[:13].strip(): " ".join(line[13:].split()) for line in lines}
    assert rows["task"] == "39_GRU softmax"
    assert rows["author"] == "gpt-x playbook"
    assert rows["attempts"] == "5, 3 passed 2, 1 passed"
    assert rows["over eager"] == "1.36x (1.35 to 1.37) 0.12x (0.11 to 0.12)"
    assert "61,541 tokens in 9 calls, at least $0.0800" in rows["cost"]
    assert "note: different tasks: 39_GRU and softmax" in lines
    assert lines[-1] == "over eager: the first has the larger speedup; the intervals do not overlap"


def test_compare_for_programs(folder: Path) -> None:
    document = json.loads(printed(run(folder, "compare", GRU, GRU, "--json")))
    assert document["first"] == document["second"]
    assert document["settings"] == document["notes"] == []
    (eager,) = document["baselines"]
    assert (eager["baseline"], eager["first"]["value"], eager["overlap"]) == ("eager", 1.36, True)


def test_export_is_a_row_per_run(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    assert printed(run(folder, "export", "--csv", file)) == f"{file}: 3 runs\n"
    assert printed(run(folder, "export", "--csv", "-")) == file.read_text()
    relu, softmax, gru = csv.DictReader(file.read_text().splitlines())
    assert list(gru)[:5] == ["run", "task", "author", "model", "created"]
    assert (relu["status"], softmax["status"], gru["status"]) == ("damaged", "interrupted", "finished")
    assert (gru["run"], gru["score"], gru["faster"], gru["attempts"], gru["passed"]) == (
        GRU,
        "1.36",
        "true",
        "5",
        "3",
    )
    assert (gru["eager_low"], gru["graph_speedup"], gru["dollars"]) == (str(1.36 * 0.99), "", "")
    assert (softmax["faster"], softmax["dollars"], relu["score"]) == ("", "0.06", "")


def test_export_takes_the_filters_and_speaks_json(folder: Path) -> None:
    (row,) = json.loads(printed(run(folder, "--task", "gru", "export", "--json")))
    assert (row["run"], row["faster"], row["input_tokens"]) == (GRU, True, 60_873)


def test_export_help_documents_every_column(folder: Path) -> None:
    told = printed(run(folder, "export", "--help", COLUMNS="200"))
    header = printed(run(folder, "export", "--csv", "-")).splitlines()[0].split(",")
    assert [name for name in header if f"{name} " not in told] == []
