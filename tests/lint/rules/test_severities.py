from __future__ import annotations

import pytest
from kernel_sources import (
    ELEMENTWISE,
    HEAD,
    HOST_LOOP,
    HOST_LOOP_THROUGH_FUNCTION,
    KERNEL_NEVER_LAUNCHED,
    LAYER_LOOP,
    PLAIN_TORCH,
    candidate,
)

from tilesmith.lint import TaskFacts, lint, read_kernel
from tilesmith.records import Finding, Severity


def kernel(*lines: str, params: str = "x, y, n, B: tl.constexpr = 64") -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return candidate(f"@triton.jit\ndef k({params}):\n{body}\n", "k[(1,)](x, y, x.numel())\n        return y")


def findings(text: str, rule: str) -> list[Finding]:
    return [finding for finding in lint(read_kernel(text)).findings if finding.id == rule]


LAUNCH_IN_TRY = """try:
            k[(1,)](x, y, 4)
        except {}:
            y = x
        return y"""

ERRORS = {
    "arange-not-power-of-two": [
        kernel("o = tl.arange(0, 48)"),
        kernel("o = tl.program_id(0) + tl.arange(start=4, end=7)"),
        kernel("if tl.program_id(0) == 0:", "    tl.store(y + tl.arange(0, 3), 0.0)"),
    ],
    "arange-runtime-bound": [
        kernel("o = tl.arange(0, n)"),
        kernel("for i in range(3):", "    tl.store(y + tl.arange(0, end=n), i)"),
    ],
    "tensor-indexing": [
        kernel("v = tl.load(x + tl.arange(0, B))", "tl.store(y, v[0])"),
        kernel("o = tl.arange(0, B)", "v = tl.zeros((B,), tl.float32)", "for i in range(B):", "    u = v[i]"),
        kernel("v = tl.zeros((B,), tl.float32)", "v[1] = 2.0"),
        kernel("o = tl.arange(0, B)", "tl.store(y + o, tl.load(x + o)[o])"),
    ],
    "grid-axis": [kernel("i = tl.program_id(3)"), kernel("i = tl.num_programs(axis=-1)")],
    "unknown-language-function": [
        kernel("tl.store(y, tl.tanh(tl.load(x)))"),
        kernel("tl.store(y, tl.math.relu(tl.load(x)))"),
        kernel("z = tl.sigmoidd(tl.load(x))"),
    ],
    "break-in-kernel": [
        kernel("for i in range(n):", "    if tl.load(x + i) > 0:", "        break"),
        kernel("for i in range(n):", "    if i == 3:", "        continue", "    tl.store(y + i, 1.0)"),
        kernel("i = tl.program_id(0)", "while i < n:", "    i += 1", "    break"),
    ],
}
WARNINGS = {
    "no-triton-launch": [PLAIN_TORCH, KERNEL_NEVER_LAUNCHED],
    "time-loop-on-host": [HOST_LOOP, HOST_LOOP_THROUGH_FUNCTION],
    "try-except-fallback": [
        ELEMENTWISE.replace("k[(1,)](x, y, 4)\n        return y", LAUNCH_IN_TRY.format("Exception")),
        ELEMENTWISE.replace("k[(1,)](x, y, 4)\n        return y", LAUNCH_IN_TRY.format("RuntimeError as e")),
    ],
}
NEAR_MISSES = {
    "no-model-class": ["from x import *", "class A: pass\nModelNew = A", "from m import Net as ModelNew"],
    "arange-not-power-of-two": [
        kernel("o = tl.arange(0, 64)", "p = tl.arange(3, 4)"),
        kernel("o = tl.arange(0, B)"),
        HEAD + "torch.arange(0, 48)\n",
    ],
    "arange-runtime-bound": [
        kernel("m: tl.constexpr = 64", "o = tl.arange(0, m)"),
        kernel("o = tl.arange(0, n)", params="x, y, n: 'tl.constexpr'"),
        candidate(
            "@triton.jit\ndef part(p, m):\n    return tl.load(p + tl.arange(0, m))\n"
            "@triton.jit\ndef k(x, y, n, B: tl.constexpr = 64):\n    tl.store(y, tl.sum(part(x, B), 0))\n"
        ),
        kernel("o = tl.arange(0, n)").replace("x.numel())", "1)"),
    ],
    "tensor-indexing": [
        kernel("o = tl.arange(0, B)[None, :]", "v = tl.load(x + o)[:, :, None]"),
        kernel("v, i = tl.max(tl.load(x + tl.arange(0, B)), 0, return_indices=True)"),
        kernel("t = (x, y)", "tl.store(t[1], tl.load(t[0]))"),
        kernel("t = tl.split(tl.load(x + tl.arange(0, B)[:, None]))", "tl.store(y, t[0])"),
    ],
    "grid-axis": [kernel("i = tl.program_id(2)"), kernel("i = tl.num_programs(axis=0)")],
    "unknown-language-function": [
        kernel("tl.store(y, tl.sigmoid(tl.load(x)))", "z = tl.math.exp(1.0)", "b = tl.make_block_ptr"),
        kernel("tl.store(y, tl.extra.cuda.libdevice.tanh(tl.load(x)))"),
        kernel("tl.store(y, tl.tanh(tl.load(x)))")
        .replace("import triton\n", "import triton, my as tl\n", 1)
        .replace("import triton.language as tl", ""),
        kernel("tl.store(y, tl.tanh(tl.load(x)))") + "\nif not hasattr(tl, 'tanh'):\n    pass\n",
    ],
    "break-in-kernel": [
        kernel("i = 0").replace("return y", "for i in range(3):\n            break\n        return y"),
        kernel("for i in range(n):", "    tl.store(y + i, 0.0)"),
    ],
    "no-triton-launch": [ELEMENTWISE, HOST_LOOP],
    "time-loop-on-host": [LAYER_LOOP, ELEMENTWISE],
    "try-except-fallback": [
        ELEMENTWISE,
        ELEMENTWISE.replace(
            "k[(1,)]",
            "try:\n            z = 1\n        except ValueError:\n            z = 2\n        k[(1,)]",
        ),
    ],
}
UNCERTAIN = {
    "compile-time branch": kernel("if B == 48:", "    o = tl.arange(0, 48)"),
    "conditional expression": kernel("o = tl.arange(0, 48) if B == 48 else tl.arange(0, B)"),
    "parameter that may be one": kernel("for i in range(n):", "    if n > 1:", "        break"),
    "static_range of no turns": kernel("for i in tl.static_range(B - 64):", "    z = tl.tanh(x)"),
    "after return": kernel("return", "i = tl.program_id(7)"),
    "second operand": kernel("if B > 64 and tl.tanh(x) > 0:", "    pass"),
    "dead kernel": ELEMENTWISE + "\n@triton.jit\ndef old(x):\n    z = tl.tanh(tl.load(x)[0])\n",
    "only in backward": ELEMENTWISE
    + "\n@triton.jit\ndef grad(x):\n    z = tl.tanh(x)\n"
    + "class Fn(torch.autograd.Function):\n"
    + "    @staticmethod\n    def backward(ctx, g):\n        grad[(1,)](g)\n",
}


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(rule, text) for rule, texts in table.items() for text in texts]


@pytest.mark.parametrize(("rule", "text"), cases(ERRORS))
def test_certain_faults_are_errors(rule: str, text: str) -> None:
    assert [finding.severity for finding in findings(text, rule)] == [Severity.ERROR]


@pytest.mark.parametrize(("rule", "text"), cases(WARNINGS))
def test_doubts_are_warnings(rule: str, text: str) -> None:
    assert {finding.severity for finding in findings(text, rule)} == {Severity.WARNING}


@pytest.mark.parametrize(("rule", "text"), cases(NEAR_MISSES))
def test_near_misses_are_silent(rule: str, text: str) -> None:
    assert findings(text, rule) == []


@pytest.mark.parametrize("case", UNCERTAIN)
def test_code_that_may_never_be_compiled_earns_no_error(case: str) -> None:
    found = lint(read_kernel(UNCERTAIN[case])).findings
    grave = {finding.severity for finding in found if finding.severity is not Severity.INFO}
    assert grave == {Severity.WARNING}


def test_a_task_needs_its_model_class() -> None:
    (finding,) = lint(read_kernel(HEAD, TaskFacts(has_task=True))).findings[:1]
    assert (finding.id, finding.severity) == ("no-model-class", Severity.ERROR)


def test_findings_name_the_line() -> None:
    text = kernel("o = tl.program_id(0)", "p = tl.arange(0, 48)")
    (finding,) = findings(text, "arange-not-power-of-two")
    assert finding.line is not None
    assert "48" in text.splitlines()[finding.line - 1]
