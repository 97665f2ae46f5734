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


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """A judge without a GPU, whatever the machine has."""
    with Judge(CheckConfig(device="cpu", timeout_s=15)) as warm:
        yield warm


@pytest.fixture(scope="session")
def fixtures() -> Path:
    return FIXTURES
