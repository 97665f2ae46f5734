"""For the judge's tests: one warm fork server, and a process that holds a secret for children to look for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilesmith.judge.nursery import Nursery

CANARY = "sk-canary-7d41c0ffee"


@pytest.fixture(scope="session")
def canary() -> Iterator[str]:
    """A key that lies in our own environment and in that of a neighbouring process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", CANARY)
        neighbour = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=dict(os.environ))
        try:
            yield CANARY
        finally:
            neighbour.kill()
            neighbour.wait()


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the warm nursery keeps its children's folders."""
    return tmp_path_factory.mktemp("nursery")


@pytest.fixture(scope="session")
def nursery(canary: str, scratch: Path) -> Iterator[Nursery]:
    """Its children may be `bare_child`, which lies beside this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        warm = Nursery("native", scratch)
    yield warm
    warm.close()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the certificates of one test lie."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tilesmith" / "certificates"
