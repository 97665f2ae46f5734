"""The forge with the real loop, journal and LLM client, but kernels that carry their verdict: quick to kill.

python marked_forge.py RUNS BASE_URL        begins a run
python marked_forge.py --resume RUN         goes on with it
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from marked_kernels import TASK, MarkedEvaluator, RecordingObserver

from tilesmith.authors.author_choice import AuthorChoice, make_author
from tilesmith.config import CheckConfig
from tilesmith.forge.run_specification import RunSpecification, begin_run, read_specification
from tilesmith.forge.runner import run_forge
from tilesmith.forge.settings import ForgeSettings
from tilesmith.llm.prices import Price
from tilesmith.llm.providers import OWN_KEY, Endpoint
from tilesmith.records import Evaluation
from tilesmith.runs import RunFolder
from tilesmith.tasks.user_code.task_name import TaskName

SETTINGS = ForgeSettings(seeds=4, rounds=2, repairs=2, spare_repairs=1, patience=2, max_tokens=40_500, max_cost=50)
"""The tokens end it before the last stage."""


class SlowEvaluator(MarkedEvaluator):
    """Takes as long as a verdict needs to be interrupted."""

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        time.sleep(0.03)
        return super().evaluate(kernel, progress)


def opened(arguments: list[str]) -> RunFolder:
    if arguments[0] == "--resume":
        return RunFolder(Path(arguments[1]))
    runs, base_url = Path(arguments[0]), arguments[1]
    task = runs.parent / "relu.py"
    task.write_text(TASK)
    author = AuthorChoice("llm", "a test", Endpoint("scripted", base_url, None, OWN_KEY), Price(1, 2))
    return begin_run(RunSpecification(TaskName(str(task)), author, CheckConfig(), SETTINGS), runs)


def main() -> None:
    with contextlib.closing(opened(sys.argv[1:])) as run:
        specification = read_specification(run.path)
        print(run.path, flush=True)
        author = make_author(specification.author, lambda _: None)
        run_forge(run, author, SlowEvaluator(), specification.settings, RecordingObserver())


if __name__ == "__main__":
    main()
