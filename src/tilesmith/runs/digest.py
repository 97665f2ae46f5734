"""Fingerprints by which a run knows a text again."""

from __future__ import annotations

import hashlib

from tilesmith.records import Prompt
from tilesmith.runs.atomic_files import UNWRITABLE


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", UNWRITABLE)).hexdigest()


def prompt_digest(prompt: Prompt) -> str:
    return text_digest(f"{prompt.system}\n\n{prompt.user}")
