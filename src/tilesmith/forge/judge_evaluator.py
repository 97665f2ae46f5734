"""The real evaluator: a judge that starts when it is first needed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tilesmith.authors.protocol import Tuner
from tilesmith.config import CheckConfig
from tilesmith.forge.tuning.tuner import MeasuringTuner
from tilesmith.judge import Judge
from tilesmith.judge.judge import AnyTask
from tilesmith.judge.machine.devices import choose_device
from tilesmith.judge.trials import KernelTrials
from tilesmith.records import Evaluation, Survey

CONFIRMATION_SEED_OFFSET = 104_729
"""Added to the seed for the confirmation."""


class JudgeEvaluator:
    """Judges candidates of one task, one at a time. A run whose verdicts are all on record starts no process."""

    def __init__(
        self, task: AnyTask, config: CheckConfig, sanitizes_winner: bool = False, shared: Judge | None = None
    ) -> None:
        """`shared` is a judge of the same configuration that somebody else opened and will close."""
        self._task, self._config = task, config
        self._sanitizes_winner = sanitizes_winner
        self._judge, self._shared = shared, shared
        self._survey: Survey | None = None

    def survey(self) -> Survey:
        if self._survey is None:
            self._survey = self._open().survey(self._task)
        return self._survey

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        return self._open().check(self._task, kernel, progress)

    @contextlib.contextmanager
    def trials(self) -> Iterator[KernelTrials]:
        """For kernels of the same task that are not judged yet."""
        with self._open().trials(self._task) as trials:
            yield trials

    def tuner(self, limit_s: float) -> Tuner | None:
        """For the playbook; none where no time is to be spent on it."""
        return MeasuringTuner(self.trials, limit_s) if limit_s else None

    def confirm(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        """Where nothing is timed, the values alone are checked again; what fails this is checked in full."""
        sanitize = self._config.sanitize or self._sanitizes_winner
        config = replace(self._config, seed=self._config.seed + CONFIRMATION_SEED_OFFSET, sanitize=sanitize)
        if choose_device(self._config.device) == "cpu":
            evaluation = self._open().confirm_values(self._task, kernel, config.seed, progress)
            if evaluation.passed:
                return evaluation
        judge = self._open()
        if judge is not self._shared:
            judge.let_references_go()  # they would hold memory that the fresh ones need
        with Judge(config, host=judge) as fresh:
            return fresh.check(self._task, kernel, progress)

    def close(self) -> None:
        if self._judge is not self._shared and self._judge is not None:
            self._judge.close()
            self._judge = None

    def _open(self) -> Judge:
        if self._judge is None:
            self._judge = Judge(self._config)
        return self._judge
