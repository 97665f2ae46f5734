"""Equipment without LLM and judge: every run is answered from a list, and kernels carry their verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from marked_kernels import TASK, ListAuthor, MarkedEvaluator

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.authors.protocol import Author
from tilesmith.authors.replay import ReplayAuthor
from tilesmith.config import CheckConfig
from tilesmith.forge.run_specification import RunSpecification
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import Reply
from tilesmith.runs.journal import read_events
from tilesmith.runs.summary import RunSummary, summarize
from tilesmith.study.experiment import PlannedRun, carry_out
from tilesmith.tasks.user_code.task_name import TaskName

Replies = dict[str, Sequence[str | Reply | Exception]]


@dataclass
class MarkedEquipment:
    """The n-th run is answered by the n-th replies; a replay by its record."""

    replies: list[Replies]
    evaluating: MarkedEvaluator = field(default_factory=MarkedEvaluator)
    made: list[ListAuthor] = field(default_factory=list)

    def author(self, choice: AuthorChoice) -> Author:
        if choice.recorded is not None:
            return ReplayAuthor(Path(choice.recorded), lambda usage: 0.0, lambda line: None)
        self.made.append(ListAuthor(self.replies[len(self.made)]))
        return self.made[-1]

    def evaluator(self, task: TaskName, check: CheckConfig) -> MarkedEvaluator:
        return self.evaluating


def specification(folder: Path, name: str = "relu", text: str = TASK) -> RunSpecification:
    task = folder / f"{name}.py"
    task.write_text(text)
    return RunSpecification(TaskName(str(task)), AuthorChoice("playbook", "a test"), CheckConfig(), ForgeSettings())


def made(plans: Iterable[PlannedRun], folder: Path, equipment: MarkedEquipment) -> list[tuple[str, RunSummary]]:
    paths = list(carry_out(plans, folder, equipment, lambda line: None))
    return [(path.name, summarize(read_events(path / "events.jsonl"))) for path in paths]
