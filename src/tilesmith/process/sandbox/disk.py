"""How much a child has written, counted from outside: the kernel limits one file, not many.

Files that were removed but are still open have no name any more; they are found through who holds them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

_MOST_FILES = 100_000
_LEAST_BYTES = 4096
"""An empty file takes room too."""


def exceeds(folders: Iterable[str], holders: Iterable[int], most_bytes: int) -> bool:
    """Whether the folders, and nameless files held by these processes, come to more than that."""
    count = _Count(most_bytes)
    try:
        for folder in folders:
            _count_below(folder, count)
        for process in holders:
            _count_nameless(process, count)
    except _Enough:
        return True
    return False


class _Enough(Exception):
    """No need to count further."""


class _Count:
    def __init__(self, most_bytes: int) -> None:
        self._left, self._files = most_bytes, 0
        self._nameless: set[tuple[int, int]] = set()

    def add(self, found: os.stat_result) -> None:
        self._left -= max(found.st_blocks * 512, _LEAST_BYTES)
        self._files += 1
        if self._left < 0 or self._files > _MOST_FILES:
            raise _Enough

    def add_nameless(self, found: os.stat_result) -> None:
        key = (found.st_dev, found.st_ino)
        if key not in self._nameless:
            self._nameless.add(key)
            self.add(found)


def _count_below(folder: str, count: _Count) -> None:
    """A folder that cannot be looked into was made so on purpose, by its mode or its depth: that is enough."""
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    _count_entry(entry, count)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            raise _Enough from None


def _count_entry(entry: os.DirEntry[str], count: _Count) -> None:
    try:
        count.add(entry.stat(follow_symlinks=False))
    except FileNotFoundError:
        return  # removed since


def _count_nameless(process: int, count: _Count) -> None:
    try:
        held = os.listdir(f"/proc/{process}/fd")
    except OSError:
        return
    for number in held:
        try:
            found = os.stat(f"/proc/{process}/fd/{number}")
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
            count.add_nameless(found)
