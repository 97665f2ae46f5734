"""Which private names of torch and triton this installation has, and what stops working without the others.

    python -m tilesmith.worker.compat.self_check

prints the answer as JSON, also where the rest of the worker cannot be imported for want of a name.
"""

from __future__ import annotations

import importlib
import json
from typing import Any

from tilesmith.process.protocol.codec import encode
from tilesmith.process.protocol.machine import LibraryInternals, MissingInternal
from tilesmith.worker.compat.name_table import REQUIRED


def check_internals() -> tuple[LibraryInternals, ...]:
    """One answer for each library."""
    return tuple(_check(library) for library in ("torch", "triton"))


def is_there(path: str) -> bool:
    """Whether the dotted path leads to something: a module, or an attribute of one."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        return _leads_somewhere(found, parts[end:])
    return False


def _check(library: str) -> LibraryInternals:
    names = [(name, use) for use, names in REQUIRED.items() for name in names if name.startswith(f"{library}.")]
    missing = tuple(MissingInternal(name, use) for name, use in names if not is_there(name))
    version = str(importlib.import_module(library).__version__)
    return LibraryInternals(library, version, len(names) - len(missing), missing)


def _leads_somewhere(found: Any, attributes: list[str]) -> bool:
    for name in attributes:
        held = vars(type(found)).get(name)
        if isinstance(held, property):
            return True  # reading it may fail where there is no GPU
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


if __name__ == "__main__":
    print(json.dumps(encode(check_internals())))
