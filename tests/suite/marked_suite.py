"""A suite with the real folders, threads and LLM client, but kernels that carry their verdict: quick to kill.

python marked_suite.py TASKS OUT BASE_URL JOBS [MAX_TOKENS [RAY_ADDRESS]]     begins it, or goes on with it
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.authors.protocol import Tuner
from tilesmith.config import CheckConfig
from tilesmith.forge.settings import ForgeSettings
from tilesmith.judge.warm_judges import WarmJudges
from tilesmith.llm.prices import Price
from tilesmith.llm.providers import OWN_KEY, Endpoint
from tilesmith.records import Evaluation
from tilesmith.suite.allowance import Allowance
from tilesmith.suite.folder import SuiteFolder
from tilesmith.suite.jobs import Evaluator, OpenEvaluator, Work
from tilesmith.suite.listing import list_tasks
from tilesmith.suite.records import ClusterChoice, SuiteLimits, SuiteSpecification, TaskSelection
from tilesmith.suite.running import Workers, WorkersHere, run_suite

sys.path.append(str(Path(__file__).parents[1] / "forge"))
from marked_kernels import MarkedEvaluator

SETTINGS = ForgeSettings(seeds=1, rounds=1, repairs=1, confirm=True, stages="none")


class SlowEvaluator(MarkedEvaluator):
    """Takes as long as a verdict needs to be interrupted."""

    seconds = 0.02

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        progress("values")
        time.sleep(self.seconds)
        return super().evaluate(kernel, progress)

    def tuner(self, limit_s: float) -> Tuner | None:
        return None


@contextlib.contextmanager
def marked_evaluator(work: Work, seconds: float = 0.02) -> Iterator[Evaluator]:
    evaluator = SlowEvaluator()
    evaluator.seconds = seconds
    yield evaluator


def evaluators_of_a_node(device: str, judges: WarmJudges) -> OpenEvaluator:
    """Slow enough that the node is killed under them. They need no GPU, so nobody asks whether there is one."""
    return partial(marked_evaluator, seconds=0.6)


def main(tasks: str, out: str, base_url: str, jobs: str, max_tokens: str = "", address: str = "") -> None:
    author = AuthorChoice("llm", "a test", Endpoint("scripted", base_url, None, OWN_KEY), Price(1, 2), retries=0)
    listed = list_tasks([tasks])
    wanted = SuiteSpecification(listed.name, (tasks,), (), TaskSelection(), CheckConfig(), author, SETTINGS)
    limits = SuiteLimits(max_tokens=int(max_tokens) if max_tokens else None)
    with contextlib.closing(SuiteFolder(Path(out), wanted, listed.jobs)) as folder:

        def workers(allowance: Allowance) -> Workers:
            if address:
                from tilesmith.suite.cluster.workers import WorkersOnRay

                cluster = ClusterChoice(address)
                return WorkersOnRay(folder, cluster, int(jobs) or None, print, allowance, evaluators_of_a_node)
            return WorkersHere(folder, int(jobs), print, allowance, lambda judges, work: marked_evaluator(work))

        end = run_suite(folder, wanted, limits, workers, (), print)
        print(f"end: {end}")


if __name__ == "__main__":
    main(*sys.argv[1:])
