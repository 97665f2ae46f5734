"""A run with whatever can be read of it, for pages and commands that show one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tilesmith.runs.journal import salvage_events
from tilesmith.runs.listing import ListedRun, read_run
from tilesmith.runs.run_filter import DAMAGED
from tilesmith.runs.summary import RunSummary, summarize


class SalvagedRun(NamedTuple):
    run: ListedRun
    summary: RunSummary
    problems: tuple[str, ...]
    """What is wrong with its files."""

    @property
    def told_best(self) -> str:
        """What is known of the best kernel before the end."""
        best = self.summary.best
        if best is None:
            return "no kernel that passed can be read" if self.problems else "no kernel has passed yet"
        what = "the last kernel that was kept, as far as can be read," if self.problems else "the best so far"
        return f"{what} is kernel {best.candidate.number}"


def salvage_run(folder: Path) -> SalvagedRun:
    run = read_run(folder)
    events, problems = salvage_events(folder / "events.jsonl")
    if problems and not run.problem:  # of a kind that only whoever reads every record finds
        run = ListedRun(folder, DAMAGED, run.manifest, problem=problems[0])
    return SalvagedRun(run, summarize(events), tuple(dict.fromkeys(filter(None, (run.problem, *problems)))))
