"""Names that reach into code that is not one's own, however they are written."""

from __future__ import annotations

import pytest

from tilesmith.judge.decisions.forbidden_names import refuse_forbidden_names
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.lint import read_kernel
from tilesmith.records import Verdict


@pytest.mark.parametrize(
    "text",
    [
        "f.__closure__",
        "getattr(f, '__globals__')",
        "def f(e):\n    return e.__traceback__.tb_frame.f_back",
        "from torch.overrides import _get_current_function_mode_stack",
        "().__class__.__base__.__subclasses__()",
    ],
)
def test_prying_is_cheating(text: str) -> None:
    with pytest.raises(GateFailed) as caught:
        refuse_forbidden_names(read_kernel(text))
    assert caught.value.verdict is Verdict.CHEATING
    assert "line" in caught.value.reason


@pytest.mark.parametrize("text", ["x.__class__.__name__", "'about __globals__ and such'", "import functools"])
def test_ordinary_code_is_not(text: str) -> None:
    refuse_forbidden_names(read_kernel(text))
