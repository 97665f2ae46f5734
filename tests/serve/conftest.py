"""A server in a thread of its own, on the sample runs of tests/runs and tests/report."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tilesmith.serve.server import RunsServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("runs", "report")]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


@pytest.fixture
def server(runs: Path) -> Iterator[RunsServer]:
    started = RunsServer(runs)
    thread = threading.Thread(target=started.run)
    thread.start()
    yield started
    started.end()
    thread.join(5)
    assert not thread.is_alive()


@pytest.fixture
def opened(browser: Browser, server: RunsServer) -> Iterator[Callable[..., Page]]:
    """Opens a page by the address with the token; in the end nothing may have gone wrong or come from elsewhere."""
    complaints: list[str] = []
    contexts = []

    def open_page(path: str = "/", width: int = 1280, scheme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        own = f"http://127.0.0.1:{server.port}/"
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda one: complaints.append(one.url) if not one.url.startswith((own, "data:")) else None
        )
        page.goto(server.address)
        if path != "/":
            page.goto(own + path.lstrip("/"))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
