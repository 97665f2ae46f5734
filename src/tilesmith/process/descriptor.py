"""Open files that travel between processes beside a message."""

from __future__ import annotations

import contextlib
import os


class Descriptor:
    """An open file descriptor, closed when nobody holds it any more, or before."""

    __slots__ = ("number", "sent_once")

    def __init__(self, number: int) -> None:
        self.number = number
        self.sent_once = False
        """Whoever sends it away has no use for it any more."""

    def close(self) -> None:
        number, self.number = self.number, -1
        if number >= 0:
            with contextlib.suppress(OSError):
                os.close(number)

    def __del__(self) -> None:
        self.close()
