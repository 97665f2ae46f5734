"""Where an exported file came from and what was verified of it: never more than the project can show."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith import __version__
from tilesmith.operators.project import code_digest
from tilesmith.operators.records import KINDS, Project

MARK = "# Exported by tilesmith"
_WHERE = {"cpu": "in Triton's interpreter, on no GPU", "cuda": "on a GPU"}


def header(project: Project, texts: Mapping[str, str]) -> str:
    """Comment lines for the top of an exported file."""
    kernel = code_digest(texts["triton"])[:12]
    said = verified(project, texts)
    return (
        f"{MARK} {__version__} from the operator project {project.operator.name} (code of its kernel: {kernel}).\n"
        f"# {said}\n"
    )


def is_verified(project: Project, texts: Mapping[str, str]) -> bool:
    """By the digests of the last passing check and of what is exported now."""
    return not _changed(project, texts)


def _changed(project: Project, texts: Mapping[str, str]) -> list[str]:
    return [kind for kind in KINDS if project.passed.get(kind) != code_digest(texts[kind])]


def verified(project: Project, texts: Mapping[str, str]) -> str:
    """One sentence."""
    if not project.passed:
        return "Not verified: `tilesmith op check` has not passed for this project."
    if changed := _changed(project, texts):
        return f"Not verified: {' and '.join(changed)} changed since `tilesmith op check` last passed."
    operator = project.operator
    where = _WHERE.get(project.passed.get("device", ""), "on a device that is not recorded")
    return (
        f"Verified before the export: by operator.toml, `tilesmith op check` passed {where}, accuracy "
        f"against float64 in {len(operator.accuracy)} shapes and {', '.join(operator.dtypes)}. "
        "Not verified by it: speed, and what the export added."
    )


def without_header(text: str) -> str:
    """A file that came back, as it was before it was exported."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[2:]) if text.startswith(MARK) else text
