"""Shared by all tests: one warm judge per test process, and where the fixtures are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lent_judges import opening_on

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.process.fork_server_client import ForkServerClient, start_fork_servers

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FIXTURES = Path(__file__).parent / "fixtures"
sys.path.insert(0, str(FIXTURES))
CANARY = "sk-canary-7d41c0ffee"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one task run one after another, and last: they share its reference, which one process keeps."""
    items.sort(key=_task_of)


def _task_of(item: pytest.Item) -> str:
    """The fixture task that a test is about, by itself or by a kernel for it; on a GPU all are open at once."""
    on_gpu = item.get_closest_marker("gpu") is not None
    values = item.callspec.params.values() if hasattr(item, "callspec") and not on_gpu else ()
    tasks = [value.stem for value in values if isinstance(value, Path) and value.parent == FIXTURES / "tasks"]
    tasks += [value.task for value in values if isinstance(getattr(value, "task", None), str)]
    return tasks[0] if tasks else ""


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What is cached for the user stays out of the home of whoever runs the tests; all test processes share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """A judge without a GPU, whatever the machine has."""
    with Judge(CheckConfig(device="cpu", timeout_s=15)) as warm:
        yield warm


@pytest.fixture
def lent(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judges that the code under test opens use the fork servers of this one."""
    monkeypatch.setattr(Judge, "__init__", opening_on(judge))


@pytest.fixture(scope="session")
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture(scope="session")
def canary() -> Iterator[str]:
    """A key that lies in our own environment and in that of a neighboring process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", CANARY)
        neighbor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=dict(os.environ))
        try:
            yield CANARY
        finally:
            neighbor.kill()
            neighbor.wait()


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the warm fork_server keeps its children's folders."""
    return tmp_path_factory.mktemp("fork_server")


@pytest.fixture(scope="session")
def fork_server(canary: str, scratch: Path) -> Iterator[ForkServerClient]:
    """Its children may be `bare_child`, which lies in `process/`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent / "process"), prepend=os.pathsep)
        warm = start_fork_servers(["native"], scratch)["native"]
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser that is installed here."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium is installed here")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page, and in the end nothing may have gone wrong in it."""
    complaints: list[str] = []
    contexts = []

    def open_page(path: Path, width: int = 1280, scheme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda one: complaints.append(one.url) if one.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [one for one in complaints if not one.startswith("data:")] == []
