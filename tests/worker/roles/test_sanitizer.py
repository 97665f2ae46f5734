"""Reading compute-sanitizer's report, from a real process that prints one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.process.protocol.candidate import LoadKernel
from tilesmith.process.protocol.machine import SanitizeKernel, SanitizerReport
from tilesmith.worker.roles.sanitizer import sanitize

BAD = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at relu_kernel+0x120
=========     Address 0x7f0000001000 is out of bounds
========= ERROR SUMMARY: 3 errors
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "compute-sanitizer"


def prints(tool: Path, report: str, seconds: int = 0) -> None:
    tool.write_text(f"#!/bin/sh\nsleep {seconds}\ncat <<'END'\n{report}END\n")
    tool.chmod(0o755)


def sanitized(name: str, limit_s: float = 10) -> SanitizerReport:
    load = LoadKernel("k.py", "", "cuda", "sm_90", "default")
    return sanitize(SanitizeKernel(name, load, "construction", "inputs", limit_s))


def test_errors_are_counted_and_the_first_is_named(tool: Path) -> None:
    prints(tool, BAD)
    assert sanitized("memcheck") == SanitizerReport(3, "Invalid __global__ write of size 4 bytes")


def test_a_clean_report_is_no_error(tool: Path) -> None:
    prints(tool, "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n")
    assert sanitized("memcheck").errors == 0


def test_races_have_their_own_summary(tool: Path) -> None:
    summary = "RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)"
    prints(tool, f"========= Error: Race reported between Write access and Read access\n========= {summary}\n")
    assert sanitized("racecheck").errors == 2


def test_no_summary_is_not_the_kernels_fault(tool: Path) -> None:
    prints(tool, "Device not supported\n")
    found = sanitized("memcheck")
    assert found.errors is None
    assert "Device not supported" in found.report


def test_too_slow_is_said(tool: Path) -> None:
    prints(tool, BAD, seconds=20)
    assert sanitized("memcheck", 0.5).errors is None
