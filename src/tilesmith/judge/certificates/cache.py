"""Certificates on disk, so that a task is certified once and not once per command.

A cache, never a record: a file that is damaged, foreign or out of date is as good as none, and a folder that
cannot be written costs only time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tilesmith.config import CheckConfig
from tilesmith.judge.sessions import ReferenceSession
from tilesmith.records import CERTIFICATE_VERSION, Certificate, Outcome, from_json, to_json
from tilesmith.tasks.draws import ALL_DRAWS
from tilesmith.tasks.source import TaskSource


def certificate_key(task: TaskSource, reference: ReferenceSession, config: CheckConfig, device: str) -> str:
    """A hash of all that an outcome depends on: the profile stands for what the task imports of others."""
    environment = reference.environment
    depends_on: dict[str, Any] = {
        "format": CERTIFICATE_VERSION,
        "text": task.text,
        "names": [task.model_name, task.inputs_name, task.init_name],
        "own files": task.own_digest,
        "mode": task.mode,
        "profile": asdict(reference.profile),
        "plans": reference.plans,
        "device": [device, environment.device],
        "versions": [environment.tilesmith, environment.torch],
        "config": [reference.k, config.precision, config.seed],
    }
    return hashlib.sha256(json.dumps(depends_on, sort_keys=True, default=str).encode()).hexdigest()[:24]


def read_certificate(key: str) -> Certificate | None:
    try:
        certificate = from_json(Certificate, json.loads(_path(key).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return None
    ours = certificate.key == key and certificate.format_version == CERTIFICATE_VERSION
    return certificate if ours and {*certificate.extra_draws} <= {*ALL_DRAWS} else None


def write_certificate(certificate: Certificate) -> None:
    """Whole or not at all. What a failing machine left untried is tried again next time instead."""
    if certificate.count(Outcome.UNTRIED):
        return
    path = _path(certificate.key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{certificate.key}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(to_json(certificate), file, indent=1)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)


def _path(key: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tilesmith" / "certificates" / f"{key}.json"
