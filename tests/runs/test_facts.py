"""What runs are compared by, and the table of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sample_run import EVENTS, evaluation, make_run, manifest

from tilesmith.records import ConfirmationEvent, Event, Speedup, Verdict
from tilesmith.runs.compared.comparison import compare_runs, compare_speedups
from tilesmith.runs.compared.facts import RunFacts, read_facts
from tilesmith.runs.compared.table import COLUMNS, table_row, write_csv


def made(parent: Path, events: tuple[Event, ...] = EVENTS, **settings: object) -> Path:
    head = manifest()
    dials = {**head.configuration["dials"], **settings}
    run = make_run(parent, events, replace(head, configuration={"dials": dials, "check": {"seed": 0}}))
    run.close()
    return run.path


def test_a_confirmed_kernel_has_the_speedup_of_its_confirmation(tmp_path: Path) -> None:
    assert read_facts(made(tmp_path)).speedup["eager"].value == 1.36
    assert read_facts(made(tmp_path, EVENTS[:-2])).speedup["eager"].value == 1.37


def test_a_kernel_that_failed_its_confirmation_is_not_the_best(tmp_path: Path) -> None:
    failed = ConfirmationEvent(4, evaluation(Verdict.INACCURATE), None, 7.0)
    facts = read_facts(made(tmp_path, (*EVENTS[:-2], failed)))
    assert (facts.best, facts.score) == (2, 0.1157)


def test_only_settings_that_differ_are_told(tmp_path: Path) -> None:
    found = compare_runs(made(tmp_path), made(tmp_path, rounds=0, confirm=False))
    assert [(one.setting, one.first, one.second) for one in found.settings] == [
        ("rounds", 3, 0),
        ("confirm", None, False),
    ]


def test_two_tasks_of_one_name_are_told_apart(tmp_path: Path) -> None:
    first, same, other = made(tmp_path), made(tmp_path), made(tmp_path)
    head = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(head | {"task_sha256": "another"}))
    assert compare_runs(first, same).notes == ()
    assert compare_runs(first, other).notes == ("two texts of a task named 39_GRU: what it computes may differ",)


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        (Speedup(1.2, 1.1, 1.3), Speedup(1.4, 1.29, 1.5), True),
        (Speedup(1.4, 1.3, 1.5), Speedup(1.2, 1.1, 1.3), True),
        (Speedup(1.2, 1.1, 1.25), Speedup(1.4, 1.3, 1.5), False),
        (Speedup(1.4, 1.3, 1.5), Speedup(1.2, 1.1, 1.25), False),
        (Speedup(1.2, 1.1, 1.3), None, None),
    ],
)
def test_intervals_overlap_or_not(first: Speedup, second: Speedup | None, overlap: bool | None) -> None:
    facts = [
        RunFacts("", "", "", "", "", "", "finished", "", "", speedup={"graph": one} if one else {})
        for one in (first, second)
    ]
    (found,) = compare_speedups(*facts)
    assert (found.baseline, found.first, found.second, found.overlap) == ("graph", first, second, overlap)


def test_a_cell_is_one_line_and_no_formula() -> None:
    facts = RunFacts("run", "p", "=HYPERLINK(1)", "a\nb,c", None, None, "damaged", "-1+1", None)
    text = write_csv(tuple(COLUMNS), [table_row(facts)])
    _, row = text.splitlines()
    assert row.startswith("""run,'=HYPERLINK(1),"a b,c",,,damaged""")
    assert "'-1+1" in row


def test_a_long_path_is_whole_in_a_table() -> None:
    path = "/".join(["runs"] * 100)
    facts = RunFacts("", path, "", "", "", "", "finished", "", "")
    assert path in write_csv(tuple(COLUMNS), [table_row(facts)])
