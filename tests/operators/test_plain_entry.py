"""What an entry's `def` says is what runs: whatever could run in its place is refused."""

from __future__ import annotations

import pytest
from softmax_project import complaint, written

from tilesmith.operators.interface import require_one_interface

HEAD = "def softmax(x: torch.Tensor, temperature: float = 2.0) -> torch.Tensor:"
HIDDEN = {
    "decorated": (f"@wrapped\n{HEAD}", "softmax is decorated"),
    "any arguments": (HEAD.replace("(x", "(*rest, x"), "softmax may have plain parameters only"),
    "by keyword": (HEAD.replace("temperature", "*, temperature"), "softmax may have plain parameters only"),
    "by position": (HEAD.replace("Tensor,", "Tensor, /,"), "softmax may have plain parameters only"),
}
SECOND = {
    "lambda": "softmax = lambda x, temperature: x\n",
    "block": "if True:\n    def softmax(x): return x\n",
    "walrus": "print(softmax := max)\n",
    "import": "from math import exp as softmax\n",
    "global": "def other():\n    global softmax\n    softmax = None\n",
}


@pytest.mark.parametrize("kind", ["triton", "baseline"])
@pytest.mark.parametrize(("head", "said"), HIDDEN.values(), ids=HIDDEN)
def test_an_entry_is_a_plain_function(head: str, said: str, kind: str) -> None:
    project, texts = written()
    assert HEAD in texts[kind]
    told = complaint(require_one_interface, project, texts | {kind: texts[kind].replace(HEAD, head)})
    assert told.startswith(f"softmax_{kind}.py, line ")
    assert said in told


@pytest.mark.parametrize("more", SECOND.values(), ids=SECOND)
def test_the_entry_is_what_its_name_means_at_last(more: str) -> None:
    project, texts = written()
    told = complaint(require_one_interface, project, texts | {"triton": f"{texts['triton']}\n{more}"})
    assert "softmax is defined a second time; let its function come last" in told


def test_a_local_of_the_same_name_and_an_earlier_definition_are_none() -> None:
    project, texts = written()
    local = "def other(x):\n    softmax = x\n    return softmax\n"
    require_one_interface(project, texts | {"triton": f"{texts['triton']}\n{local}"})
    earlier = texts["triton"].replace(HEAD, f"def softmax(): ...\n\n\n{HEAD}")
    require_one_interface(project, texts | {"triton": earlier})
