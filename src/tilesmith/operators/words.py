"""A definition from a sentence: an LLM writes the file that a person would have written, and the user sees it."""

from __future__ import annotations

import os
from collections.abc import Callable

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.errors import AuthorError, ProjectError, UsageError
from tilesmith.forge.replies.code_blocks import find_code_blocks
from tilesmith.llm.retry import CallLimits, RetryPolicy
from tilesmith.operators.definition import Definition, parse_definition
from tilesmith.operators.writing import render_text
from tilesmith.records import Prompt

_SYSTEM = "You define operators in PyTorch, plainly and exactly. You answer with one Python file in a code block."


def define_in_words(name: str, words: str, author: AuthorChoice, tell: Callable[[str], None]) -> Definition:
    """Nothing that the model writes is run here: the judge does, behind its walls."""
    if author.endpoint is None:
        raise UsageError(f"--words needs an LLM: {author.why}")
    from tilesmith.llm.client import Client

    policy = RetryPolicy(retries=author.retries, notify=tell)
    prompt = Prompt(_SYSTEM, render_text("words.md.j2", name=name, words=words))
    reply = Client(author.endpoint, policy, os.environ).complete(prompt, CallLimits(), lambda _: None)
    blocks = find_code_blocks(reply.text)
    text = blocks[-1].text if blocks else reply.text
    for line in text.strip().splitlines():
        tell(f"    {line}")
    try:
        return parse_definition(text, name)
    except (SyntaxError, ProjectError) as error:
        raise AuthorError(
            f"{reply.author} wrote no definition of {name} ({error}); try other words, or --from"
        ) from None
