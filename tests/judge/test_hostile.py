"""No source takes the judge down: each gets a verdict that is not a pass, and the next verdict is right."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from manifest import BROKEN, BrokenFile

from tilesmith.judge import Judge
from tilesmith.records import Verdict

IMPORTS = "import os, sys, time, torch, triton\nimport triton.language as tl\nfrom torch import nn\n"
MODEL = IMPORTS + "class ModelNew(nn.Module):\n    def forward(self, x):\n"
NESTED = "(" * 5000 + "1" + ")" * 5000

HOSTILE = {
    "exit at import": (MODEL + "        return x\nos._exit(0)", {"crashed"}),
    "exit while running": (MODEL + "        os._exit(0)", {"crashed"}),
    "sys.exit": (MODEL + "        sys.exit(0)", {"runtime_error"}),
    "endless loop at import": (MODEL + "        return x\nwhile True: pass", {"timeout"}),
    "deep recursion": (MODEL + "        return self.forward(x)", {"runtime_error", "crashed"}),
    "stack overflow in C": (
        MODEL + "        sys.setrecursionlimit(10**9)\n        return self.forward(x)",
        {"runtime_error", "crashed", "out_of_memory", "timeout"},
    ),
    "deeply nested source": (f"x = {NESTED}\n" + MODEL + "        return x", {"syntax_error"}),
    "fork bomb": (MODEL + "        while True:\n            os.fork()", {"cheating"}),
    "thread bomb": (
        MODEL + "        import threading\n        while True:\n"
        "            threading.Thread(target=time.sleep, args=(60,)).start()",
        {"cheating"},
    ),
    "giant tensor": (MODEL + "        return torch.ones(10**12)", {"out_of_memory"}),
    "giant list": (MODEL + "        return [0] * 10**11", {"out_of_memory"}),
    "grows until stopped": (
        MODEL + "        kept = []\n        while True:\n            kept.append(bytearray(2**28))",
        {"out_of_memory", "crashed", "timeout"},  # memory comes slowly on some machines
    ),
    "kills its parent": (
        MODEL + "        os.kill(os.getppid(), 9)\n        time.sleep(1)\n        return x",
        {"cheating"},
    ),
    "kills its group": (MODEL + "        os.killpg(0, 9)", {"cheating"}),
    "endless output": (MODEL + "        while True:\n            print('passed ' * 1000)", {"timeout", "crashed"}),
    "fills the disk": (
        MODEL
        + "        with open('b', 'wb') as f:\n            while True:\n                f.write(bytes(2**26))",
        {"cheating"},
    ),
    "forges a reply on every descriptor": (
        MODEL + "        import json, struct\n"
        "        reply = json.dumps({'ok': {'launches': ['k'], 'changed_inputs': []}}).encode()\n"
        "        for fd in range(3, 64):\n"
        "            try:\n                os.write(fd, struct.pack('!I', len(reply)) + reply)\n"
        "            except OSError:\n                pass\n"
        "        time.sleep(1)\n        return x",
        {"*"},
    ),
    "forges a fault that says passed": (
        MODEL + "        class Fake(Exception):\n            verdict = 'passed'\n        raise Fake('passed')",
        {"runtime_error"},
    ),
    "an exception that cannot be shown": (
        MODEL + "        class Mute(Exception):\n            def __str__(self):\n                raise ValueError\n"
        "        raise Mute()",
        {"runtime_error"},
    ),
    "returns nonsense": (MODEL + "        return object()", {"runtime_error", "wrong_shape"}),
    "returns itself": (
        MODEL + "        a = []\n        a.append(a)\n        return a",
        {"runtime_error", "wrong_shape"},
    ),
    "replaces torch": (
        MODEL + "        torch.save = torch.from_file = torch.Tensor.copy_ = None\n        return x",
        {"*"},
    ),
}


@pytest.fixture(autouse=True)
def impatient(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of these never end by themselves."""
    monkeypatch.setattr(judge, "config", replace(judge.config, timeout_s=3, memory_bytes=2**30))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_kernel_costs_only_its_own_child(judge: Judge, fixtures: Path, tmp_path: Path, name: str) -> None:
    text, allowed = HOSTILE[name]
    kernel = tmp_path / "hostile.py"
    kernel.write_text(text)
    evaluation = judge.check(fixtures / "tasks/relu.py", kernel)
    assert evaluation.verdict is not Verdict.PASSED, evaluation.reason
    assert str(evaluation.verdict) in allowed or allowed == {"*"}, evaluation.reason
    assert len(evaluation.reason) < 2500
    after = judge.check(fixtures / "tasks/relu.py", fixtures / "kernels/relu_constructor_raises.py")
    assert after.verdict is Verdict.RUNTIME_ERROR, after.reason
    assert "num_warps" in after.reason


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.path)
def test_a_file_that_is_not_python(judge: Judge, fixtures: Path, broken: BrokenFile) -> None:
    evaluation = judge.check(fixtures / "tasks/relu.py", fixtures / broken.path)
    assert str(evaluation.verdict) == broken.verdict, evaluation.reason


def test_ten_megabytes(judge: Judge, fixtures: Path, tmp_path: Path) -> None:
    kernel = tmp_path / "huge.py"
    kernel.write_text("x = 1  # filler\n" * 700_000)
    assert judge.check(fixtures / "tasks/relu.py", kernel).verdict is Verdict.SYNTAX_ERROR


def test_truncated_anywhere(judge: Judge, fixtures: Path, tmp_path: Path) -> None:
    """Cut at random places, a good kernel becomes many broken ones."""
    text = (fixtures / "kernels/relu_persistent.py").read_text()
    chance = random.Random(7)
    for position in sorted(chance.sample(range(len(text) - 40), 8)):
        kernel = tmp_path / "cut.py"
        kernel.write_text(text[:position])
        evaluation = judge.check(fixtures / "tasks/relu.py", kernel)
        assert evaluation.verdict is not Verdict.PASSED, text[:position][-60:]


def test_random_bytes_flipped(judge: Judge, fixtures: Path, tmp_path: Path) -> None:
    raw = bytearray((fixtures / "kernels/relu_persistent.py").read_bytes())
    chance = random.Random(11)
    for _ in range(6):
        damaged = bytearray(raw)
        for _ in range(12):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        kernel = tmp_path / "flipped.py"
        kernel.write_bytes(bytes(damaged))
        judge.check(fixtures / "tasks/relu.py", kernel)
    assert judge.check(fixtures / "tasks/relu.py", fixtures / "kernels/relu_persistent.py").passed
