"""The self-check finds every name here, and says which one is missing and what it was for."""

from __future__ import annotations

import pytest
import torch
from triton.runtime.jit import JITFunction

from tilesmith.process.protocol.machine import MissingInternal
from tilesmith.worker.compat.name_table import OPTIONAL, REQUIRED
from tilesmith.worker.compat.self_check import check_internals, is_there


def test_this_torch_and_this_triton_have_every_name() -> None:
    found = {one.library: one for one in check_internals()}
    assert found.keys() == {"torch", "triton"}
    assert all(one.missing == () for one in found.values())
    assert sum(one.found for one in found.values()) == sum(map(len, REQUIRED.values()))
    assert torch.__version__ == found["torch"].version


def test_a_missing_name_is_named_with_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cuda, "_sleep")
    monkeypatch.delattr(JITFunction, "create_binder")
    torchs, tritons = check_internals()
    assert torchs.missing == (MissingInternal("torch.cuda._sleep", "timing on a GPU"),)
    assert tritons.missing == (
        MissingInternal("triton.runtime.jit.JITFunction.create_binder", "launching and compiling"),
    )


@pytest.mark.parametrize("path", ["torch._C", "torch._C._nn._parse_to", "triton.runtime.driver.driver.active"])
def test_modules_attributes_and_properties_are_there(path: str) -> None:
    assert is_there(path)


@pytest.mark.parametrize("path", ["torch._nothing", "torch._C._nn._nothing", "triton.nothing.at.all"])
def test_what_is_not_there_is_not_there(path: str) -> None:
    assert not is_there(path)


def test_no_name_is_both_required_and_optional() -> None:
    assert not OPTIONAL.keys() & {name for names in REQUIRED.values() for name in names}
