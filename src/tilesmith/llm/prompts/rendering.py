"""Templates are files beside this module; a name that a template misspells is an error, never an empty string."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from tilesmith.llm.prompts import wording

if TYPE_CHECKING:
    from jinja2 import Environment

PACKAGE = "tilesmith.llm.prompts"


@cache
def environment() -> Environment:
    """One for the process: templates are compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(PACKAGE, "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # the reader is a model, not a browser
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        ms=wording.milliseconds,
        size=wording.size,
        count=wording.count,
        percent=wording.percent,
        factor=wording.factor,
        number=wording.number,
        shape=wording.shape,
        clip=wording.clip,
        one_line=wording.one_line,
        fenced=wording.fenced,
    )
    return made


def rendered(name: str, facts: Mapping[str, Any]) -> str:
    """The template `name` filled in."""
    return wording.tidied(environment().get_template(f"{name}.md.j2").render(facts))
