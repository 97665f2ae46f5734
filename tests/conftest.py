"""Shared by all tests: one warm judge per test process, and where the fixtures are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge

FIXTURES = Path(__file__).parent / "fixtures"
sys.path.insert(0, str(FIXTURES))


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What is cached for the user stays out of the home of whoever runs the tests."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """A judge without a GPU, whatever the machine has."""
    with Judge(CheckConfig(device="cpu", timeout_s=15)) as warm:
        yield warm


@pytest.fixture(scope="session")
def fixtures() -> Path:
    return FIXTURES
