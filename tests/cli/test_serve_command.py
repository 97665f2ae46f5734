"""`tilesmith serve` as people and scripts start and end it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from sample_run import make_run


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "tilesmith", "serve", *map(str, words)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_ended_though_a_page_is_open(tmp_path: Path, number: signal.Signals) -> None:
    run = make_run(tmp_path)
    with subprocess.Popen(
        command("--runs", tmp_path, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        document = json.loads(server.stdout.readline())
        assert document["address"].startswith(f"http://127.0.0.1:{document['port']}/?token=")
        assert document["runs"] == str(tmp_path)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        assert run.path.name in browser.open(document["address"], timeout=30).read().decode()
        news = browser.open(f"http://127.0.0.1:{document['port']}/runs/{run.path.name}/news", timeout=30)
        assert news.readline().startswith(b"id: ")
        server.send_signal(number)
        rest, complaints = server.communicate(timeout=20)
    run.close()
    assert (server.returncode, rest, complaints) == (0, "", "")


def refused(*words: object, cwd: Path) -> str:
    done = subprocess.run(command(*words), capture_output=True, text=True, cwd=cwd, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = refused("--port", port, cwd=tmp_path)
    assert f"port {port} of 127.0.0.1: Address already in use; name another with --port" in told
    assert "no such folder; see --runs" in refused("--runs", "nowhere", cwd=tmp_path)


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    program = "import sys; sys.modules['uvicorn'] = None; sys.argv = ['tilesmith', 'serve']; "
    program += "from tilesmith.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "tilesmith: the live page needs the package uvicorn: pip install 'tilesmith[serve]'\n"
