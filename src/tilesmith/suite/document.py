"""`suite.json`: a suite with its statistics, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tilesmith.errors import RunError, TilesmithError
from tilesmith.records import from_json, to_json
from tilesmith.suite.records import FORMAT_VERSION, Suite
from tilesmith.suite.statistics import suite_statistics

DOCUMENT_NAME = "suite.json"
CURE = "move it and rows.jsonl away, and the command that began the suite finds its finished runs again"


def suite_document(suite: Suite) -> dict[str, Any]:
    """What `suite.json` holds and `--json` prints. The statistics are for readers; they are never read back."""
    return {**to_json(suite), "statistics": to_json(suite_statistics(suite))}


def suite_text(suite: Suite) -> str:
    return json.dumps(suite_document(suite), indent=1) + "\n"


def read_suite(path: Path) -> Suite:
    """Of a suite's folder, or of its `suite.json`. Raises RunError, in one line."""
    file = path / DOCUMENT_NAME if path.is_dir() else path
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        version = int(data["format_version"])
    except FileNotFoundError:
        lacks = f"there is no {file.name}" if path.is_dir() else "there is no such folder"
        raise RunError(f"{path}: not a suite ({lacks}); name the folder of one") from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise RunError(f"{file}: cannot be read as a suite: {_cause(error)}; {CURE}") from None
    if version > FORMAT_VERSION:
        raise RunError(f"{file}: written by a newer tilesmith (format {version}); update tilesmith to read it")
    try:
        return from_json(Suite, data)
    except (TilesmithError, ValueError) as error:
        raise RunError(f"{file}: is damaged: {_cause(error)}; {CURE}") from None


def _cause(error: Exception) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    text = f"no {error}" if isinstance(error, KeyError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__
