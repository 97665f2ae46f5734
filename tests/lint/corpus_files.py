"""Read the corpus: candidates with their type, complexity, real outcome and every finding marked in place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tilesmith.lint import TaskFacts
from tilesmith.tasks.interface import returned_count

CORPUS = Path(__file__).parent / "corpus"
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


def read_corpus() -> list[CorpusFile]:
    return [read_file(path) for path in sorted(CORPUS.rglob("*.py"))]


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
        inputs=returned_count(text, "get_inputs"),
        init_arguments=returned_count(text, "get_init_inputs", plain=True),
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
