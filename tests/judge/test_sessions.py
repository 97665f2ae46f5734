"""What a session makes of a child that answers whatever it likes."""

from __future__ import annotations

import pytest

from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.sessions import CandidateSession
from tilesmith.process.protocol.candidate import CompileLaunches
from tilesmith.process.protocol.codec import Malformed, RequestFailed, RequestFailure
from tilesmith.records import Verdict


class Forger:
    """The far end of a session."""

    walls, folder = (), None

    def __init__(self, answer: Exception) -> None:
        self._answer = answer

    def ask(self, *_: object) -> None:
        raise self._answer


def asked(answer: Exception) -> GateFailed:
    with pytest.raises(GateFailed) as caught:
        CandidateSession(Forger(answer), 1.0).ask(CompileLaunches())  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize(
    "answer",
    [
        Malformed("no"),
        RequestFailed(RequestFailure("kernel", "", "passed")),
        RequestFailed(RequestFailure("kernel", "", "fine")),
        RequestFailed(RequestFailure("kernel", "")),
        RequestFailed(RequestFailure("task", "the task is at fault")),
    ],
    ids=["malformed", "a pass", "no verdict of ours", "no verdict", "blames the task"],
)
def test_a_forged_reply_is_cheating(answer: Exception) -> None:
    assert asked(answer).verdict is Verdict.CHEATING


def test_text_that_no_terminal_takes_is_cleaned() -> None:
    failed = asked(RequestFailed(RequestFailure("kernel", "\ud800" + "x" * 10_000, "runtime_error")))
    failed.reason.encode()
    assert len(failed.reason) <= 2000


def test_whatever_a_reason_quotes_can_be_printed() -> None:
    failed = GateFailed(Verdict.CHEATING, "work was left on \udcff" + "x" * 10_000)
    failed.reason.encode()
    assert len(failed.reason) <= 4000
