"""The workers of a suite on a Ray cluster: threads here that forge, and judges there that they ask.

Run folders, replies of models and limits stay on this machine, as without Ray: what a lost node costs is the
verdicts that it was about to give.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

try:
    import ray
except ImportError as _error:
    from tilesmith.errors import UsageError

    raise UsageError(
        "--on ray needs Ray on this machine and on every node: pip install 'tilesmith[ray]'"
    ) from _error

from tilesmith.errors import MachineError, UsageError
from tilesmith.runs.event_text import one_line
from tilesmith.suite.allowance import Allowance
from tilesmith.suite.cluster.evaluator import JudgePlace, evaluator_on
from tilesmith.suite.cluster.judge_actor import MakeEvaluators, evaluators_there
from tilesmith.suite.cluster.judges import ClusterJudges, WantedJudges
from tilesmith.suite.folder import SuiteFolder
from tilesmith.suite.jobs import Workplace, begun_runs, carry_out
from tilesmith.suite.records import ClusterChoice, Job, Row
from tilesmith.suite.running import Notify, jobs_for

_MOST_THREADS = 1024
_CONNECT_S = 10.0


def connect(address: str | None) -> None:
    """To a cluster that runs. Raises MachineError in one line."""
    named = address or os.environ.get("RAY_ADDRESS") or "auto"
    if named.startswith("ray://"):
        raise UsageError(
            f"--ray-address {named}: start tilesmith on a node of the cluster and name HOST:PORT, or nothing"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    host, _, port = named.rpartition(":")
    try:
        if port.isdecimal():  # Ray itself would try for minutes
            socket.create_connection((host, int(port)), _CONNECT_S).close()
        ray.init(address=named, log_to_driver=False, logging_level=logging.CRITICAL)
    except RuntimeError as error:  # such as another version of Ray or Python
        raise MachineError(f"--on ray: the cluster cannot be used: {one_line(str(error))}") from None
    except (OSError, ValueError) as error:
        where = "on this machine" if named == "auto" else f"at {named}"
        why = "" if named == "auto" else f" ({str(error).splitlines()[0]})"
        raise MachineError(
            f"--on ray: no cluster answers {where}{why}: start one with  ray start --head  or name its "
            "head with --ray-address HOST:PORT"
        ) from None


class WorkersOnRay:
    """Forges on threads of this process. A job begins, in the order of work, when a judge takes another."""

    def __init__(
        self,
        folder: SuiteFolder,
        cluster: ClusterChoice,
        at_once: int | None,
        notify: Notify,
        allowance: Allowance,
        make_evaluators: MakeEvaluators = evaluators_there,
    ) -> None:
        specification = folder.suite.specification
        self._specification, self._allowance = specification, allowance
        self._workplace = partial(Workplace, folder.runs, allowance, notify=notify, begun=begun_runs(folder.runs))
        if cluster.gpu_kind and specification.check.device == "cpu":
            raise UsageError("--gpu-kind: --device cpu uses no GPU; leave one of them out")
        options = {"--on": "ray", "--ray-address": cluster.address, "--gpu-kind": cluster.gpu_kind}
        self.options = "".join(f" {name} {value}" for name, value in options.items() if value)
        connect(cluster.address)
        try:
            device = "cpu" if specification.check.device == "cpu" else "cuda"
            slots: Callable[[int, int], int] = partial(jobs_for, specification)
            wanted = WantedJudges(
                device, cluster.gpu_kind, (lambda *_: at_once) if at_once else slots, make_evaluators
            )
            self._judges = ClusterJudges(wanted, notify)
            self._judges.require_nodes()
        except BaseException:
            ray.shutdown()
            raise
        self._waiting: deque[tuple[Job, Future[Row]]] = deque()
        self._threads = ThreadPoolExecutor(at_once or min(len(folder.jobs), _MOST_THREADS), "suite")

    def submit(self, job: Job) -> Future[Row]:
        future: Future[Row] = Future()
        self._waiting.append((job, future))
        self._threads.submit(self._work)
        return future

    def close(self, at_once: bool) -> None:
        if at_once:
            self._allowance.stop("ended before it was done")
            self._judges.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._judges.close()
        ray.shutdown()

    def _work(self) -> None:
        """The next job, on a judge that takes one more."""
        try:
            place = JudgePlace(self._judges, self._allowance, self._judges.acquire(self._allowance))
        except BaseException as error:  # handed to whoever waits for the job
            self._waiting.popleft()[1].set_exception(error)
            return
        job, future = self._waiting.popleft()
        try:
            evaluator = partial(evaluator_on, place)
            future.set_result(carry_out(job, self._specification, self._workplace(evaluator=evaluator)))
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._judges.release(place.judge)
