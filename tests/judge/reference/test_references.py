"""References are shared, let go and reopened while other checks go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tilesmith.errors import OutOfGpuMemory
from tilesmith.judge.machine.gpu_memory_room import EVERYTHING, GpuMemoryRoom, memory_need
from tilesmith.judge.reference.references import References
from tilesmith.process.protocol.reference import Environment, FreeMemory
from tilesmith.tasks.roofline import TaskProfile
from tilesmith.tasks.source import TaskSource, parse_task

TASK = "class Model: pass\ndef get_inputs(): return []\n# {}\n"


class Session:
    """Stands in for a session: a folder on disk and a profile, as References sees it."""

    def __init__(self, folder: Path, moved: int | None, gpu_bytes: int | None = None) -> None:
        profile = TaskProfile(bytes_moved=moved, input_bytes=moved, output_bytes=0)
        self.folder, self.profile, self.broken = folder, profile, False
        self.environment = Environment("0", "3", "2", "3", "CPU", memory_bytes=gpu_bytes)
        self.asked: list[str] = []
        folder.mkdir(parents=True)

    def ask(self, request: Any) -> Any:
        self.asked.append(type(request).__name__)
        return FreeMemory(self.environment.memory_bytes or 0)

    def close(self) -> None:
        self.folder.joinpath("gone").unlink(missing_ok=True)
        self.folder.rmdir()


def source(number: int) -> TaskSource:
    return parse_task(Path("task.py"), TASK.format(number))


def test_many_tasks_at_once_never_lose_their_folder(tmp_path: Path) -> None:
    """More tasks than are kept warm, from several threads: the folder of a session in use is always there."""
    references = References(lambda _, folder: Session(folder, 10), tmp_path, GpuMemoryRoom(tmp_path))  # type: ignore[arg-type,return-value]

    def use(number: int) -> bool:
        with references.of(source(number % 20)) as session:
            return session.folder.is_dir()  # type: ignore[attr-defined]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(400)))
    references.close()


def test_a_large_task_stays_but_gives_its_memory_back(tmp_path: Path) -> None:
    opened: list[Session] = []

    def open_session(task: TaskSource, folder: Path) -> Session:
        opened.append(Session(folder, 2**27, gpu_bytes=2**36))
        return opened[-1]

    references = References(open_session, tmp_path, GpuMemoryRoom(tmp_path))  # type: ignore[arg-type]
    for _ in range(2):
        with references.of(source(0)) as session, references.room_for(session):
            with references.room_for(session):
                pass
            assert opened[0].asked[-1] != "ReleaseMemory"  # another check is still at work
    assert [len(opened), opened[0].asked.count("ReleaseMemory")] == [1, 2]


@pytest.mark.parametrize(("moved", "frugal"), [(2**20, False), (2**34, True), (None, True)])
def test_who_needs_more_than_there_is_must_be_frugal(tmp_path: Path, moved: int | None, frugal: bool) -> None:
    session: Any = Session(tmp_path / "session", moved, gpu_bytes=2**36)
    references = References(lambda *_: session, tmp_path, GpuMemoryRoom(tmp_path))
    with references.room_for(session) as answer:
        assert answer is frugal
    with references.room_for(session, alone=True) as answer:
        assert answer is True


def test_what_can_never_fit_is_refused_at_once_with_numbers(tmp_path: Path) -> None:
    session: Any = Session(tmp_path / "session", 2**36, gpu_bytes=2**36)
    references = References(lambda *_: session, tmp_path, GpuMemoryRoom(tmp_path))
    with pytest.raises(OutOfGpuMemory, match=r"at least 138\.5 GB .* and 65\.3 GB can be had"):
        references.room_for(session).__enter__()
    assert "ReleaseMemory" not in session.asked


def test_checks_wait_in_line_until_their_memory_fits(tmp_path: Path) -> None:
    """The small one that came after a large one enters after it, though there was room before."""
    entered: list[str] = []
    room = GpuMemoryRoom(tmp_path)

    def enter(name: str, size: int) -> None:
        with room.reserved(size, lambda: 100):
            entered.append(name)

    with room.reserved(50, lambda: 100):
        threads = [threading.Thread(target=enter, args=one) for one in (("large", 60), ("small", 10))]
        for thread in threads:
            thread.start()
            sleep(0.2)
        assert entered == []
    for thread in threads:
        thread.join(5)
    assert entered == ["large", "small"]


def test_small_checks_share_the_room_and_a_giant_gets_all_of_it(tmp_path: Path) -> None:
    room = GpuMemoryRoom(tmp_path)
    with room.reserved(40, lambda: 100) as free, room.reserved(40, lambda: 0) as same:
        assert (free, same) == (95, 95)
    with room.reserved(EVERYTHING, lambda: 100):
        waiting = threading.Thread(target=lambda: room.reserved(1, lambda: 100).__enter__())
        waiting.daemon = True
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
    waiting.join(5)
    assert not waiting.is_alive()


def test_who_was_killed_holds_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib\n"
        "from tilesmith.judge.machine.gpu_memory_room import GpuMemoryRoom\n"
        "with GpuMemoryRoom(pathlib.Path(sys.argv[1])).reserved(90, lambda: 100):\n"
        "    print('in', flush=True); time.sleep(60)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "in\n"
    threading.Timer(0.3, other.kill).start()
    threading.Timer(0.4, other.wait).start()
    with GpuMemoryRoom(tmp_path).reserved(90, lambda: 100):
        assert other.poll() is not None


def list_in(folder: Path) -> Path:
    return folder / f"tilesmith-{os.getuid()}-gpu-0.memory"


@pytest.mark.parametrize("torn", ['{"free": 1', "[1]", '{"entries": [1]}', '{"free": 1, "entries": []}]}'])
def test_a_torn_list_keeps_nobody_out(tmp_path: Path, torn: str) -> None:
    list_in(tmp_path).write_text(torn)
    with GpuMemoryRoom(tmp_path).reserved(90, lambda: 100) as free:
        assert free == 95


def test_a_process_that_got_the_number_of_a_dead_one_is_another(tmp_path: Path) -> None:
    stale = [os.getpid(), 1, "token", 90, False]
    list_in(tmp_path).write_text(json.dumps({"free": 100, "entries": [stale]}))
    with GpuMemoryRoom(tmp_path).reserved(90, lambda: 100) as free:
        assert free == 95


def test_who_waits_while_the_list_is_torn_still_enters(tmp_path: Path) -> None:
    room, entered = GpuMemoryRoom(tmp_path), threading.Event()

    def enter() -> None:
        with room.reserved(60, lambda: 100):
            entered.set()

    with room.reserved(60, lambda: 100):
        waiting = threading.Thread(target=enter, daemon=True)
        waiting.start()
        assert not entered.wait(0.2)
        list_in(tmp_path).write_text('{"free": 1')
        assert entered.wait(5)
    waiting.join(5)


def test_a_shorter_list_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    with GpuMemoryRoom(tmp_path).reserved(1, lambda: 100):
        size = list_in(tmp_path).stat().st_size
    assert json.loads(list_in(tmp_path).read_text()) == {"free": 100, "entries": []}
    assert list_in(tmp_path).stat().st_size == size, "written in one piece"


def test_the_need_grows_with_the_task_and_is_all_where_nothing_is_known() -> None:
    small, large = (TaskProfile(bytes_moved=2 * n, input_bytes=n, output_bytes=n) for n in (10**6, 10**9))
    assert memory_need(small) < 3 * 10**9 < memory_need(large) < 3 * 10**10
    assert memory_need(TaskProfile()) == EVERYTHING
