"""Templates are files beside this module; a name that a template misspells is an error, never an empty string."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tilesmith.llm.prompts import formatting
from tilesmith.llm.prompts.facts import PromptFacts

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
        ms=formatting.milliseconds,
        size=formatting.size,
        count=formatting.count,
        percent=formatting.percent,
        factor=formatting.factor,
        number=formatting.number,
        shape=formatting.shape,
        clip=formatting.clip,
        one_line=formatting.one_line,
        fenced=formatting.fenced,
    )
    return made


def render(name: str, facts: PromptFacts) -> str:
    """The template `name` filled in."""
    return formatting.tidy(environment().get_template(f"{name}.md.j2").render(vars(facts)))
