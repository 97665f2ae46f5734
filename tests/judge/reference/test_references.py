"""References are shared, let go and reopened while other checks go on."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tilesmith.judge.reference.references import MemoryRoom, References
from tilesmith.process.protocol.reference import Environment
from tilesmith.tasks.roofline import TaskProfile
from tilesmith.tasks.source import TaskSource, parse_task

TASK = "class Model: pass\ndef get_inputs(): return []\n# {}\n"


class Session:
    """Stands in for a session: a folder on disk and a profile, as References sees it."""

    def __init__(self, folder: Path, moved: int) -> None:
        self.folder, self.profile, self.broken = folder, TaskProfile(bytes_moved=moved), False
        self.environment = Environment("0", "3", "2", "3", "CPU")
        folder.mkdir(parents=True)

    def close(self) -> None:
        self.folder.joinpath("gone").unlink(missing_ok=True)
        self.folder.rmdir()


def source(number: int) -> TaskSource:
    return parse_task(Path("task.py"), TASK.format(number))


def test_many_tasks_at_once_never_lose_their_folder(tmp_path: Path) -> None:
    """More tasks than are kept warm, from several threads: the folder of a session in use is always there."""
    references = References(lambda _, folder: Session(folder, 10), tmp_path)  # type: ignore[arg-type,return-value]

    def use(number: int) -> bool:
        with references.of(source(number % 20)) as session:
            return session.folder.is_dir()  # type: ignore[attr-defined]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(400)))
    references.close()


def test_a_large_task_is_closed_after_use_and_a_small_one_is_kept(tmp_path: Path) -> None:
    opened: list[int] = []

    def open_session(task: TaskSource, folder: Path) -> Session:
        opened.append(1)
        return Session(folder, 2**40 if "# 1" in task.text else 10)

    references = References(open_session, tmp_path)  # type: ignore[arg-type]
    for number in (0, 0, 1, 1):
        with references.of(source(number)):
            pass
    assert len(opened) == 3


def test_checks_wait_until_their_memory_fits() -> None:
    room = MemoryRoom()
    entered = threading.Event()

    def second() -> None:
        with room.taken(60, 100):
            entered.set()

    with room.taken(60, 100):
        thread = threading.Thread(target=second)
        thread.start()
        assert not entered.wait(0.2)
    assert entered.wait(5)
    thread.join()


def test_one_check_alone_always_fits() -> None:
    with MemoryRoom().taken(10**15, 100):
        pass
