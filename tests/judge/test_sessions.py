"""What a session makes of a child that answers whatever it likes."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from tilesmith.errors import ReferenceTooSlow
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.machine.child_limits import reference_limits
from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.judge.sessions import REFERENCE_S, CandidateSession, ReferenceSession
from tilesmith.process.descriptor import Descriptor
from tilesmith.process.fork_server_client import ForkServerClient
from tilesmith.process.protocol.candidate import CompileLaunches
from tilesmith.process.protocol.codec import Malformed, RequestFailed, RequestFailure
from tilesmith.process.protocol.reference import InputsWritten, OpenTask, ShareInputs
from tilesmith.process.protocol.tensors import SharedMemory
from tilesmith.records import Verdict
from tilesmith.tasks.source import read_task


class Forger:
    """The far end of a session."""

    walls, folder = (), None

    def __init__(self, answer: Exception) -> None:
        self._answer = answer

    def ask(self, *_: object) -> None:
        raise self._answer


def asked(answer: Exception) -> GateFailed:
    with pytest.raises(GateFailed) as caught:
        CandidateSession(lambda: Forger(answer), 1.0).ask(CompileLaunches())  # type: ignore[arg-type]
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


def test_a_task_that_takes_too_long_is_told_its_own_limit(
    fork_server: ForkServerClient, fixtures: Path, tmp_path: Path
) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(60)\n" + (fixtures / "tasks" / "relu.py").read_text())
    session = ReferenceSession(
        lambda: fork_server.spawn("reference", reference_limits()), "slow", tmp_path / "reference", 0.5
    )
    with pytest.raises(ReferenceTooSlow, match=re.escape("did not answer within 0.5 s during OpenTask")) as raised:
        session.ask(OpenTask(read_task(slow), "cpu", "default", 0, str(tmp_path)))
    session.close()
    assert "make the task smaller, or --timeout longer than 0.5" in str(raised.value)


class Sharer:
    """A reference whose inputs stay on the GPU."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, request: Any, limit_s: float) -> Any:
        self.asked.append(type(request).__name__)
        memory = Descriptor(os.open(os.devnull, os.O_RDONLY))
        return SharedMemory(memory) if isinstance(request, ShareInputs) else InputsWritten(True, True, memory)


def test_inputs_are_copied_once_for_each_who_takes_them(tmp_path: Path) -> None:
    sharer = Sharer()
    session = ReferenceSession(lambda: sharer, "task", tmp_path / "reference")  # type: ignore[arg-type,return-value]
    first, second = (session.inputs("exact", "own").memory for _ in range(2))
    assert sharer.asked == ["WriteInputs", "ShareInputs"]
    assert first is not None
    assert second is not None
    assert first.sent_once
    assert session.accepts("exact", "wild")
    session.inputs("exact", "wild")
    assert sharer.asked[2:] == ["WriteInputs", "ShareInputs"], "who only asks whether it can be used holds nothing"


def test_nobody_waits_for_the_compiler_with_the_lock_of_the_gpu(tmp_path: Path) -> None:
    session = ReferenceSession(Sharer, "task", tmp_path / "reference")  # type: ignore[arg-type]
    lock, entered = GpuLock(tmp_path), threading.Event()

    def ask() -> None:
        with session.on_gpu(lock.shared):
            entered.set()

    other = threading.Thread(target=ask, daemon=True)
    with session.compiling:
        other.start()
        assert not entered.wait(0.2)
        with lock.alone():
            pass
    other.join(5)
    assert entered.is_set()


def test_the_help_names_the_limit_of_the_task() -> None:
    from tilesmith.cli.task_options import TIMEOUT_HELP

    assert f"{REFERENCE_S:.0f}" in TIMEOUT_HELP
