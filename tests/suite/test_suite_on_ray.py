"""A suite on a Ray cluster of this machine: the same rows as without it, whatever happens to its nodes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from folders import snapshot
from marked_kernels import TASK
from ray_cluster import FakeCluster
from script import Script
from scripted_run import environment
from scripted_server import ScriptedServer
from test_suite_kill_and_resume import ELEMENTWISE, PROGRAM, REPLIES, rows_of, rows_on_disk

QUICK = ("--author", "playbook", "--effort", "quick", "--rounds", "0", "--tuning-s", "0", "--no-confirm")
THREE_AT_ONCE, NO_LIMIT = "3", ""


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with closing(FakeCluster()) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    folder = tmp_path_factory.mktemp("script")
    for name, text in REPLIES.items():
        (folder / f"{name}.md").write_text(text)
    with ScriptedServer(Script(folder)) as server:
        yield server


def tasks_in(folder: Path, count: int, text: str = TASK) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}_relu.py").write_text(f"{text}\nNUMBER = {number}\n")
    return folder


def tilesmith(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tilesmith", *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, env=environment())


def marked(tasks: Path, out: Path, server: ScriptedServer, cluster: FakeCluster) -> subprocess.Popen[bytes]:
    command = [
        *PROGRAM,
        str(tasks),
        str(out),
        server.base_url,
        THREE_AT_ONCE,
        NO_LIMIT,
        cluster.address,
    ]
    with out.with_suffix(".log").open("ab") as log:
        told_at_once = environment() | {"PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(command, env=told_at_once, stdout=log, stderr=log, start_new_session=True)


def wait_for_rows(out: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    while rows_on_disk(out) < count:
        assert process.poll() is None, out.with_suffix(".log").read_text()
        time.sleep(0.05)


def require_same(tmp_path: Path, tasks: Path, server: ScriptedServer) -> None:
    """What lies in `out` is what a suite leaves that nothing was done to and that saw no cluster."""
    subprocess.run(
        [*PROGRAM, str(tasks), str(tmp_path / "alone"), server.base_url, "3"], check=True, env=environment()
    )
    assert rows_of(tmp_path / "out") == rows_of(tmp_path / "alone")
    for folders in zip(*(sorted((tmp_path / one / "runs").iterdir()) for one in ("alone", "out")), strict=True):
        alone, out = map(snapshot, folders)
        assert out == alone


@pytest.mark.slow_suite
def test_one_line_for_a_cluster_that_cannot_judge(cluster: FakeCluster, tmp_path: Path) -> None:
    """No GPU; one of another kind; one that is not there; another tilesmith; no tilesmith."""
    tasks = tasks_in(tmp_path / "tasks", 1)

    def told(*options: str) -> str:
        where = ("--on", "ray", "--ray-address", cluster.address, "--out", tmp_path / "out")
        done = tilesmith("suite", tasks, *QUICK, *where, *options)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    assert "the Ray cluster has no GPU: add nodes with one, or judge with --device cpu" in told()
    with cluster.node(kind="H200"):
        assert "--gpu-kind A100: the Ray cluster has only H200" in told("--gpu-kind", "A100")
        assert "(H200) is left out: no judge starts there: Ray says that this node has a GPU" in told()
    for name, text, complaint in (
        ("older", "__version__ = '0.0.1'\n", "it has tilesmith 0.0.1, not 0.1.0"),
        ("none", "raise ImportError('no such package')\n", "tilesmith is not installed there"),
    ):
        (tmp_path / name / "tilesmith").mkdir(parents=True)
        (tmp_path / name / "tilesmith" / "__init__.py").write_text(text)
        with cluster.node(import_path=str(tmp_path / name)):
            assert complaint in told()
    assert "no cluster answers at 127.0.0.1:1" in told("--ray-address", "127.0.0.1:1")


def test_a_node_is_lost_and_another_comes(cluster: FakeCluster, server: ScriptedServer, tmp_path: Path) -> None:
    tasks, out = tasks_in(tmp_path / "tasks", 6), tmp_path / "out"
    first, _ = cluster.add(), cluster.add()
    with marked(tasks, out, server, cluster) as process:
        wait_for_rows(out, 1, process)
        cluster.kill(first)
        cluster.add()
    told = out.with_suffix(".log").read_text()
    assert process.returncode == 0, told
    assert f"--resume {out} --on ray --ray-address {cluster.address}" in told
    require_same(tmp_path, tasks, server)


@pytest.mark.slow_suite
def test_thirty_tasks_while_nodes_and_the_suite_itself_are_killed(
    cluster: FakeCluster, server: ScriptedServer, tmp_path: Path
) -> None:
    """Three nodes; ten times one of them or the whole command is killed, and nodes join."""
    dice, tasks, out = random.Random(5), tasks_in(tmp_path / "tasks", 30), tmp_path / "out"
    while len(cluster.nodes) < 3:
        cluster.add()
    process = marked(tasks, out, server, cluster)
    for kill in range(10):
        wait_for_rows(out, rows_on_disk(out) + dice.randint(0, 2), process)
        time.sleep(dice.uniform(0, 0.5))
        assert process.poll() is None, "it ended before all was killed"
        if kill % 3 == 2:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process = marked(tasks, out, server, cluster)
        else:
            cluster.kill(dice.choice(cluster.nodes))
            cluster.add()
    assert process.wait() == 0, out.with_suffix(".log").read_text()
    assert len(rows_of(out)) == 30
    assert " is lost; what ran there is done elsewhere" in out.with_suffix(".log").read_text()
    require_same(tmp_path, tasks, server)


@pytest.mark.slow_suite
def test_the_real_commands(cluster: FakeCluster, tmp_path: Path) -> None:
    """The real judge, on nodes without a GPU; then the kernels that came of it are judged as somebody's."""
    cluster.add(gpus=0)
    tasks = tasks_in(tmp_path / "tasks", 2, ELEMENTWISE.format("tanh", 2))
    where = ("--device", "cpu", "--on", "ray", "--ray-address", cluster.address, "--json", "--out")
    forged = tilesmith("suite", tasks, *QUICK, *where, tmp_path / "forged")
    assert forged.returncode == 0, forged.stderr
    (tmp_path / "kernels").mkdir()
    for row in json.loads(forged.stdout)["rows"]:
        assert row["outcome"] == "passed"
        assert row["device"] == "no GPU here; compiled for H200"
        kernel = tmp_path / "forged" / "runs" / row["run"] / "kernels" / "0001.py"
        (tmp_path / "kernels" / f"{row['key']}.py").write_text(kernel.read_text())
    judged = tilesmith("check", "--suite", tmp_path / "kernels", "--tasks", tasks, *where, tmp_path / "judged")
    assert judged.returncode == 0, judged.stderr
    assert [row["outcome"] for row in json.loads(judged.stdout)["rows"]] == ["passed"] * 2
