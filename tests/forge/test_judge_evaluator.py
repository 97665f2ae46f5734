"""How a winner is confirmed: its values alone where nothing is timed, in full where it is or where those fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from tilesmith.config import CheckConfig
from tilesmith.forge import judge_evaluator
from tilesmith.forge.judge_evaluator import CONFIRMATION_SEED_OFFSET, JudgeEvaluator
from tilesmith.records import Evaluation, Verdict


class FakeJudge:
    """Notes what it is asked."""

    values = Verdict.PASSED

    def __init__(self, config: CheckConfig, host: Self | None = None) -> None:
        self.config = config
        if host is not None:
            ASKED.append(("fresh", config.seed))

    def check(self, task: Path, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        ASKED.append(("check", self.config.seed))
        return Evaluation(Verdict.PASSED, "in full", "gemm")

    def confirm_values(self, task: Path, kernel: Path, seed: int, progress: Callable[[str], None]) -> Evaluation:
        ASKED.append(("confirm_values", seed))
        return Evaluation(self.values, "values", "gemm")

    def let_references_go(self) -> None:
        ASKED.append(("let go", self.config.seed))

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


ASKED: list[tuple[str, int]] = []
UNSEEN = 7 + CONFIRMATION_SEED_OFFSET
IN_FULL = [("let go", 7), ("fresh", UNSEEN), ("check", UNSEEN)]


@pytest.mark.parametrize(
    ("device", "values", "asked"),
    [
        ("cpu", Verdict.PASSED, [("confirm_values", UNSEEN)]),
        ("cpu", Verdict.WRONG_VALUES, [("confirm_values", UNSEEN), *IN_FULL]),
        ("cuda", Verdict.PASSED, IN_FULL),
    ],
)
def test_the_winner_is_confirmed_under_an_unseen_seed(
    monkeypatch: pytest.MonkeyPatch, device: str, values: Verdict, asked: list[tuple[str, int]]
) -> None:
    monkeypatch.setattr(judge_evaluator, "choose_device", lambda wanted: device)
    monkeypatch.setattr(FakeJudge, "values", values)
    monkeypatch.setattr(judge_evaluator, "Judge", FakeJudge)
    ASKED.clear()
    evaluator = JudgeEvaluator(Path("task.py"), CheckConfig(seed=7))
    assert evaluator.confirm(Path("kernel.py"), lambda gate: None).passed
    assert asked == ASKED
