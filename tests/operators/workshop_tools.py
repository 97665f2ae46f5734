"""Making projects of the examples with the playbook, without a GPU."""

from __future__ import annotations

from pathlib import Path

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.config import CheckConfig
from tilesmith.forge.settings import settings_for
from tilesmith.judge import Judge
from tilesmith.operators.definition import Definition, read_definition
from tilesmith.operators.forging import Workshop
from tilesmith.operators.making import MadeProject, make_project

EXAMPLES = Path(__file__).parents[2] / "examples" / "operators"
CPU = CheckConfig(device="cpu")


def example(name: str) -> Definition:
    return read_definition(EXAMPLES / f"{name}.py", name)


def workshop(folder: Path, judge: Judge) -> Workshop:
    settings = settings_for("quick", confirm=False)
    return Workshop(AuthorChoice("playbook", "as asked"), settings, CPU, folder / "runs", host=judge)


def make(definition: Definition, folder: Path, judge: Judge) -> MadeProject:
    return make_project(definition, folder / definition.operator.name, workshop(folder, judge))
