"""An LLM with the playbook beside it: each is asked what is meant for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.authors.assisted import AssistedAuthor
from tilesmith.authors.playbook import PlaybookAuthor
from tilesmith.authors.protocol import OnProgress
from tilesmith.forge.replies import extract_kernel
from tilesmith.judge import Judge
from tilesmith.records import AuthorRequest, Phase, Prompt, Reply, StopReason, Survey, TaskProfile, Usage

EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL = Reply("a kernel", "model", usage=Usage(10, 20))


class Model:
    name = "model at home"

    def dollars(self, usage: Usage) -> float | None:
        return 7.0

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        return MODEL


AUTHOR = AssistedAuthor(Model(), PlaybookAuthor())


def ask(request: AuthorRequest) -> Reply:
    return AUTHOR.answer(request, Prompt("", ""), lambda *_: None)


def test_the_playbook_writes_its_own_kernel_at_no_tokens(judge: Judge) -> None:
    survey = judge.survey(EXAMPLES / "softmax.py")
    reply = ask(AuthorRequest(1, Phase.SEED, survey, by_playbook=True))
    assert (reply.author, reply.usage.tokens) == ("playbook", 0)
    assert "class ModelNew" in extract_kernel(reply.text)


@pytest.mark.parametrize("phase", Phase)
def test_everything_else_is_the_models(phase: Phase) -> None:
    survey = Survey("task", "", "cpu", TaskProfile({}), None, None, None)
    assert ask(AuthorRequest(2, phase, survey)) is MODEL
    assert (AUTHOR.name, AUTHOR.dollars(Usage())) == ("model at home", 7.0)


def test_a_task_without_recipe_is_for_the_model() -> None:
    source = "class Model: ...\ndef get_inputs(): return []\n"
    survey = Survey("task", source, "cpu", TaskProfile({}), None, None, None)
    reply = ask(AuthorRequest(1, Phase.SEED, survey, by_playbook=True))
    assert (reply.stop, reply.text) == (StopReason.DECLINED, "the playbook has no kernel for this task")
