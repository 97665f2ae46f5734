"""Constants that an LLM proposes: they join the search, which measures them like all others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.forge.replies.code_blocks import find_code_blocks
from tilesmith.llm.retry import CallLimits, RetryPolicy
from tilesmith.operators.tuning.constants import is_allowed, read_tuning
from tilesmith.operators.writing import render_text
from tilesmith.playbook.recipe import Tuning
from tilesmith.records import Prompt

_SYSTEM = "You tune Triton kernels. You answer with one JSON list in a code block."


def suggest_tunings(text: str, author: AuthorChoice, tell: Callable[[str], None]) -> tuple[Tuning, ...]:
    """None where no LLM is configured, or where it answers something else; what is out of bounds is left out."""
    if author.endpoint is None:
        return ()
    from tilesmith.llm.client import Client

    own = read_tuning(text)
    prompt = Prompt(_SYSTEM, render_text("suggest.md.j2", text=text, names=own.names))
    policy = RetryPolicy(retries=author.retries, notify=tell)
    reply = Client(author.endpoint, policy, os.environ).complete(prompt, CallLimits(), lambda _: None)
    blocks = find_code_blocks(reply.text)
    try:
        proposed = json.loads(blocks[-1].text if blocks else reply.text)
        changes = [{name: one[name] for name in own.names if name in one} for one in proposed]
    except (ValueError, TypeError):
        tell(f"{reply.author} suggested nothing that can be read")
        return ()
    allowed = [change for change in changes if all(is_allowed(*pair) for pair in change.items())]
    found = [Tuning(tuple({**dict(own.values), **change}.items())) for change in allowed]
    tell(f"{reply.author} suggested {len(found)} configurations")
    return tuple(dict.fromkeys(found))
