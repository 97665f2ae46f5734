"""Read the corpus: candidates with their type, complexity, real outcome and every finding marked in place."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from tilesmith.lint import LintReport, TaskFacts, lint, read_kernel
from tilesmith.tasks.argument_counts import count_returned

CORPUS = Path(__file__).parent / "corpus"
OUTCOMES = Path(__file__).with_name("corpus_outcomes.json")
COMPILER = Path(__file__).with_name("corpus_outcomes.py")
MARK = "#!"


@dataclass(frozen=True)
class CorpusFile:
    path: Path
    text: str
    kernel_type: str
    complexity: str
    works: bool
    near: frozenset[str]
    """Rules it comes close to and must not break."""
    facts: TaskFacts
    """With `# task: self` the file's own `get_inputs` stand for a task's; `# planned_launches: 2` is a plan."""
    finds: frozenset[tuple[str, int | None]]
    """Rule and line of every error and warning, and of the infos worth marking."""

    @property
    def name(self) -> str:
        return str(self.path.relative_to(CORPUS))

    @property
    def key(self) -> str:
        """The name and the hash of the text."""
        return f"{self.name} {hashlib.sha256(self.text.encode()).hexdigest()[:16]}"


@cache
def read_corpus() -> tuple[CorpusFile, ...]:
    return tuple(read_file(path) for path in sorted(CORPUS.rglob("*.py")))


@cache
def lint_corpus_file(file: CorpusFile) -> LintReport:
    """Each file is linted once per test process."""
    return lint(read_kernel(file.text, file.facts))


def recorded_outcomes(files: Sequence[CorpusFile]) -> dict[str, bool]:
    """Whether a file works, by name, where this very text was compiled before with this Triton."""
    recorded = json.loads(OUTCOMES.read_text(encoding="utf-8")).get(version("triton"), {})
    return {file.name: recorded[file.key] for file in files if file.key in recorded}


def record_outcomes(files: Sequence[CorpusFile]) -> None:
    """Compile what is not known yet, and drop what is no longer there; other Triton versions stay as they are."""
    known = recorded_outcomes(files)
    works = known | compile_outcomes([file for file in files if file.name not in known])
    written = json.loads(OUTCOMES.read_text(encoding="utf-8"))
    written[version("triton")] = {file.key: works[file.name] for file in files}
    OUTCOMES.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def compile_outcomes(files: Sequence[CorpusFile]) -> dict[str, bool]:
    """Whether each file works, compiled now, in a process of its own and without Triton's cache."""
    if not files:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        fresh = {**os.environ, "TRITON_CACHE_DIR": folder, "TRITON_ALWAYS_COMPILE": "1"}
        command = [sys.executable, str(COMPILER), *(str(file.path) for file in files)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=fresh)
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    missing = [file.name for file in files if str(file.path) not in said]
    assert not missing, f"no outcome for {missing}: {done.stderr[-500:]}"
    return {file.name: said[str(file.path)].startswith("works") for file in files}


def read_file(path: Path) -> CorpusFile:
    text = path.read_text(encoding="utf-8")
    header = _header(text)
    marked = {(rule, line) for line, content in enumerate(text.splitlines(), 1) for rule in _marks(content)}
    return CorpusFile(
        path=path,
        text=text,
        kernel_type=header["kernel_type"],
        complexity=header["complexity"],
        works={"works": True, "fails": False}[header["outcome"]],
        near=frozenset(_listed(header.get("near", ""))),
        facts=_task_facts(header, text),
        finds=frozenset(marked) | {(rule, None) for rule in _listed(header.get("finds", ""))},
    )


def _task_facts(header: dict[str, str], text: str) -> TaskFacts:
    planned = int(header["planned_launches"]) if "planned_launches" in header else None
    if header.get("task") != "self":
        return TaskFacts(planned_launches=planned)
    return TaskFacts(
        has_task=True,
        inputs=count_returned(text, "get_inputs"),
        init_arguments=count_returned(text, "get_init_inputs", plain=True),
        planned_launches=planned,
    )


def _header(text: str) -> dict[str, str]:
    """`# key: value` lines at the top; what follows the first word of an outcome explains it."""
    fields = {}
    for line in text.splitlines():
        if not line.startswith("# ") or ": " not in line:
            break
        key, _, value = line[2:].partition(": ")
        fields[key] = value.strip()
    fields["outcome"] = fields["outcome"].split()[0]
    return fields


def _marks(line: str) -> list[str]:
    return _listed(line.partition(MARK)[2]) if MARK in line else []


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
