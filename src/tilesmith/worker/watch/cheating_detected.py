"""What is raised when a candidate does what only a cheat does, or what is not ours to judge."""

from __future__ import annotations

from collections.abc import Callable

from tilesmith.records import Verdict


class CheatingDetected(Exception):
    """The text says what it did."""

    verdict = Verdict.CHEATING


class UnsupportedCode(CheatingDetected):
    """Honest code whose work is not done by Triton: another compiler's, or a C++ extension."""

    verdict = Verdict.UNSUPPORTED


Report = Callable[[CheatingDetected], None]
"""Tells the parent and ends the process."""
