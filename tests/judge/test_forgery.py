"""A candidate that speaks in place of our code gets a verdict like any other; the judge never raises over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.judge import Judge
from tilesmith.records import Verdict

HEAD = "import json, os, struct, time, torch, triton\nimport triton.language as tl\nfrom torch import nn\n"
KERNEL = """
@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0), mask=i < n)
class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 1024)
        HOOK
        return y
"""
SPEAK = """
def speak(reply):
    payload = json.dumps(reply).encode()
    for fd in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                os.write(fd, struct.pack("!I", len(payload)) + payload)
        except OSError:
            pass
    time.sleep(1)
    os._exit(0)
"""
WRITE = """
import tilesmith.worker.tensors.exchange as exchange
def write(path, outputs):
    ACTION
exchange.write_outputs = write
"""


def verdict(judge: Judge, fixtures: Path, tmp_path: Path, text: str) -> Verdict:
    kernel = tmp_path / "forged.py"
    kernel.write_text(HEAD + text)
    return judge.check(fixtures / "tasks/relu.py", kernel).verdict


def test_the_same_kernel_without_forgery_passes(judge: Judge, fixtures: Path, tmp_path: Path) -> None:
    assert verdict(judge, fixtures, tmp_path, KERNEL.replace("HOOK", "pass")) is Verdict.PASSED


@pytest.mark.parametrize(
    "action",
    [
        "open(path, 'wb').write(b'junk' * 100)",
        "open(path, 'wb').close()",
        "pass",
        "os.mkdir(path)",
        "open(path, 'wb').write(struct.pack('<Q', 9) + b'not json.' + bytes(512))",
    ],
    ids=["junk", "an empty file", "no file", "a folder", "a bad header"],
)
def test_outputs_that_cannot_be_read(judge: Judge, fixtures: Path, tmp_path: Path, action: str) -> None:
    text = KERNEL.replace("HOOK", "pass") + WRITE.replace("ACTION", action)
    assert verdict(judge, fixtures, tmp_path, text) is Verdict.CHEATING


@pytest.mark.parametrize(
    "reply",
    [
        {"reply": {"launches": 5}},
        {"reply": {"launches": ["k"], "autotuned": "many"}},
        {"reply": {"launches": ["k"], "changed_inputs": 1}},
        {"reply": {"launches": ["k"], "devices": 3}},
    ],
    ids=str,
)
def test_replies_of_the_wrong_form(judge: Judge, fixtures: Path, tmp_path: Path, reply: dict[str, object]) -> None:
    text = SPEAK + KERNEL.replace("HOOK", f"speak({reply!r})")
    assert verdict(judge, fixtures, tmp_path, text) is not Verdict.PASSED
