"""Tunings on disk, so that a kernel is tuned once for a GPU and not once per command.

A cache, never a record: a file that is damaged, foreign or out of date is as good as none, and a folder that cannot
be written costs only time.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilesmith.playbook.recipe import TunedPart, Tuning, part_key
from tilesmith.records import Survey

_FORMAT = 1
_MOST_KEPT = 6
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


class TuningCache:
    """The winners for one machine and its software."""

    def __init__(self, survey: Survey) -> None:
        known = survey.environment
        self._machine = [known.get(name) for name in ("device", "capability", "torch", "triton", "precision")]

    def read(self, part: TunedPart) -> tuple[Tuning, ...]:
        """The choices for a part, fastest first; empty where it was not tuned."""
        key = self._key(part)
        try:
            stored = json.loads(_path(key).read_text(encoding="utf-8"))
            choices = tuple(_tuning(one, part) for one in stored["choices"])
        except _UNREADABLE:
            return ()
        return choices if (stored["format"], stored["key"]) == (_FORMAT, key) else ()

    def write(self, part: TunedPart, choices: Sequence[Tuning]) -> None:
        """Whole or not at all."""
        key = self._key(part)
        plain = [{name.removeprefix(part.prefix): n for name, n in one.values} for one in choices[:_MOST_KEPT]]
        path = _path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{key}.", suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump({"format": _FORMAT, "key": key, "machine": self._machine, "choices": plain}, file)
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)

    def _key(self, part: TunedPart) -> str:
        return part_key(_FORMAT, self._machine, part.key)


def _tuning(stored: dict[str, Any], part: TunedPart) -> Tuning:
    """Raises where it has not the constants of one of the part's own choices. None at all leaves it to PyTorch."""
    tuning = Tuning(tuple((f"{part.prefix}{name}", number) for name, number in stored.items()))
    known = {(), *(one.names for one in part.choices)}
    if tuning.names not in known or any(type(number) is not int or number < 1 for number in stored.values()):
        raise ValueError("not a tuning of this part")
    return tuning


def _path(key: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tilesmith" / "tunings" / f"{key}.json"
