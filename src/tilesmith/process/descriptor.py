"""Open files that travel between processes beside a message."""

from __future__ import annotations

import contextlib
import os


class Descriptor:
    """An open file descriptor, closed when nobody holds it any more."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.number)
