"""The modules of `plan/modules`, each as a task, and what becomes of it."""

from __future__ import annotations

import ast
from pathlib import Path

from playbook_surveys import survey_task

from tilesmith.playbook import find_match
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipe import Declined

_ADVICE = "; tilesmith forge --model"


def read_modules() -> dict[str, str]:
    """The task of every module: the file that it stands in, and two lines that say which one it is."""
    found: dict[str, str] = {}
    for path in sorted((Path(__file__).parent / "plan" / "modules").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        inputs = ast.parse(text).body[-1]
        assert isinstance(inputs, ast.Assign)
        assert isinstance(inputs.value, ast.Dict)
        for name in map(ast.literal_eval, filter(None, inputs.value.keys)):
            ending = (
                f'\n\ndef get_inputs():\n    return INPUTS["{name}"]()\n\n\ntilesmith = {{"model": "{name}"}}\n'
            )
            found[name] = text + ending
    return found


MODULES = read_modules()


def outcome(name: str) -> str:
    """The kernels of its plan, or why PyTorch is kept."""
    found = find_match(survey_task(name, MODULES[name]))
    if isinstance(found, Declined):
        return f"{name}: PyTorch is kept, {found.reason.partition(_ADVICE)[0]}"
    assert isinstance(found, Plan)
    return f"{name}: {', '.join(region.match.name for region in found.regions)}"


def outcomes() -> str:
    return "\n".join(map(outcome, MODULES)) + "\n"
