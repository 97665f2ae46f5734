"""Who is let in, over plain HTTP."""

from __future__ import annotations

import contextlib
import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sample_run import EVENTS, make_run
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tilesmith.serve.following import folder_state
from tilesmith.serve.guard import Guard
from tilesmith.serve.server import RunsServer


def ask(
    server: RunsServer, path: str, method: str = "GET", host: str | None = None, cookie: str = ""
) -> tuple[http.client.HTTPResponse, str]:
    """Redirects are not followed."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    headers = {"Host": host or f"127.0.0.1:{server.port}"} | ({"Cookie": cookie} if cookie else {})
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    return answer, text


def with_token(server: RunsServer) -> str:
    return "/?" + urlsplit(server.address).query


@pytest.fixture
def cookie(server: RunsServer) -> str:
    answer, _ = ask(server, with_token(server))
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    given, _, rules = answer.headers["Set-Cookie"].partition("; ")
    assert {"HttpOnly", "SameSite=strict"} <= set(rules.split("; "))
    return given


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=guess", "/?token=%F0%9F%98%80", "/news", "/runs/x/", "/no"]
)
def test_nothing_is_shown_without_the_token(server: RunsServer, path: str) -> None:
    answer, text = ask(server, path)
    assert answer.status == 403
    assert "Set-Cookie" not in answer.headers
    assert "tilesmith serve" in text


def test_a_wrong_cookie_is_no_token(server: RunsServer) -> None:
    assert ask(server, "/", cookie=f"tilesmith-{server.port}=guess")[0].status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}"]
)
def test_the_name_of_another_host_leads_nowhere(server: RunsServer, cookie: str, host: str) -> None:
    host = host.format(port=server.port)
    assert ask(server, "/", host=host, cookie=cookie)[0].status == 403
    assert ask(server, with_token(server), host=host)[0].status == 403


def test_the_token_opens_every_page_by_its_cookie(server: RunsServer, cookie: str) -> None:
    for host in (f"127.0.0.1:{server.port}", f"localhost:{server.port}"):
        answer, text = ask(server, "/", host=host, cookie=cookie)
        assert answer.status == 200
        assert "There are no runs here yet" in text


def test_every_answer_has_the_policy(server: RunsServer, cookie: str) -> None:
    for path, status in (("/", 200), ("/no", 404), ("/compare", 404)):
        answer, _ = ask(server, path, cookie=cookie)
        assert answer.status == status
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "script-src 'sha256-" in policy
        assert "unsafe-inline" not in policy.replace("style-src-attr 'unsafe-inline'", "")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_one_can_only_look(server: RunsServer, cookie: str, method: str) -> None:
    assert ask(server, "/", method, cookie=cookie)[0].status == 405


def test_files_of_a_run_are_plain_text_and_no_others_are_there(server: RunsServer, runs: Path, cookie: str) -> None:
    run = make_run(runs)
    run.close()
    (runs.parent / "secret.py").write_text("nobody may read this")
    (runs / "secret.py").write_text("nobody may read this")
    (run.path / "llm/secret.py").write_text("nobody may read this")
    (run.path / "kernels/0099.py").symlink_to(runs.parent / "secret.py")
    (run.path / "best.py").symlink_to("/etc/passwd")
    home = f"/runs/{run.path.name}"
    answer, text = ask(server, f"{home}/kernels/0004.py", cookie=cookie)
    assert (answer.status, text) == (200, "# kernel 4\n")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    for path in (
        f"{home}/kernels/0099.py",
        f"{home}/best.py",
        f"{home}/llm/secret.py",
        f"{home}/kernels/../llm/secret.py",
        f"{home}/../secret.py",
        f"{home}/%2e%2e/secret.py",
        f"{home}/kernels/%2e%2e/%2e%2e/%2e%2e/secret.py",
        f"{home}//etc/passwd",
        f"/runs/..%2f{run.path.name}/run.json",
        "/runs/%2e%2e/runs/run.json",
        "/runs/./run.json",
        "/compare?a=..&b=.",
    ):
        answer, text = ask(server, path, cookie=cookie)
        assert (answer.status, "nobody may" in text, "root:" in text) == (404, False, False), path


def test_a_file_that_grows_is_sent_whole(server: RunsServer, runs: Path, cookie: str) -> None:
    with contextlib.closing(make_run(runs)) as run, ThreadPoolExecutor() as pool:
        log = run.path / "log.txt"
        log.write_text("x" * 300_000)
        is_read = threading.Event()

        def write() -> None:
            with log.open("a") as file:
                while not is_read.wait(0.0005):
                    print("y" * 200, file=file, flush=True)

        pool.submit(write)
        try:
            for _ in range(3):
                assert len(ask(server, f"/runs/{run.path.name}/log.txt", cookie=cookie)[1]) >= 300_000
        finally:
            is_read.set()


def test_the_list_tells_of_a_run_that_is_killed(runs: Path) -> None:
    run = make_run(runs, EVENTS[:9])
    before = folder_state(runs)
    run.close()  # as a kill does: no file changes, and nobody holds the run
    assert folder_state(runs) != before


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1", 404), ("localhost:80", 404), ("evil.example", 403)])
def test_browsers_leave_port_80_out(host: str, status: int) -> None:
    client = TestClient(Guard(Starlette(), 80, "token", ""), headers={"Host": host, "Cookie": "tilesmith-80=token"})
    assert client.get("/no").status_code == status
