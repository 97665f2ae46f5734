"""The page of a suite, made of the verdicts that benchmarks/playbook_tasks.py recorded before there were suites.

    PYTHONPATH=src python benchmarks/recorded_suite_page.py \\
        benchmarks/results/2026-11-16-h200-playbook-tasks-a3515da.json --out docs/suite-sample.html

Every number on it is the judge's; the runs themselves were not kept, so no task links to a report.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.config import CheckConfig
from tilesmith.forge.ranking import score_of
from tilesmith.forge.settings import settings_for
from tilesmith.records import Evaluation, from_json
from tilesmith.suite.page.writing import write_suite_page
from tilesmith.suite.records import JobOutcome, Row, Suite, SuiteSpecification, TaskSelection


def row_of(recorded: dict[str, Any], gpu: str) -> Row:
    name = recorded["task"]
    judged = from_json(Evaluation, recorded["evaluation"]) if recorded["evaluation"] else None
    passed = recorded["outcome"] == "passed"
    judged = None if recorded["outcome"] == "kept" else judged
    return Row(
        *(name, name, name.split("/")[0], None, ""),
        JobOutcome(recorded["outcome"]),
        str(judged.verdict) if judged else None,
        recorded["reason"],
        score=score_of(judged) if judged and passed else None,
        speedup=judged.timing.speedup if judged and passed and judged.timing else {},
        error_ratio=judged.errors.ratio if judged and judged.errors else None,
        device=gpu,
        attempts=len(recorded["scores"]),
        seconds=recorded["seconds"],
    )


def recorded_suite(found: dict[str, Any]) -> Suite:
    rows = tuple(
        row_of(one, found["copying"]["gpu"]) for one in sorted(found["rows"], key=lambda row: str(row["task"]))
    )
    specification = SuiteSpecification(
        name=f"Playbook tasks, as recorded at {found['commit']}",
        places=("benchmarks/playbook_tasks/operators", "benchmarks/playbook_tasks/chains"),
        path=(),
        selection=TaskSelection(),
        check=CheckConfig(),
        author=AuthorChoice("playbook", "as asked"),
        settings=settings_for("quick"),
    )
    keys = tuple(row.key for row in rows)
    return Suite(found["date"], specification, keys, rows, seconds=found["seconds"], tilesmith=found["commit"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    write_suite_page(recorded_suite(json.loads(options.results.read_text())), options.out)


if __name__ == "__main__":
    main()
