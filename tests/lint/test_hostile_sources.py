"""No source crashes or hangs the reader, whatever its bytes. The limits catch hangs, not slowness."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from corpus_files import read_corpus

from tilesmith.lint import LintReport, TaskFacts
from tilesmith.lint.files import lint_bytes
from tilesmith.lint.rules import STUMBLED

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = HEAD + "@triton.jit\ndef f(x, n, B: tl.constexpr):\n"
TAIL = "\n\ndef g(x):\n    f[(1,)](x, 4, 64)\n    return x\n"
HANG_SECONDS = 20


def nested(opening: str, count: int, end: str) -> str:
    return (
        KERNEL + "".join("    " + " " * depth + opening + "\n" for depth in range(count)) + " " * (count + 4) + end
    )


def kernel(lines: list[str]) -> str:
    return KERNEL + "".join(f"    {line}\n" for line in lines) + TAIL


STRANGE: dict[str, str | bytes] = {
    "empty": "",
    "null byte": "x = 1\n\0",
    "not UTF-8": b"\xff\xfe\x00x = 1",
    "latin-1": "x = 'é'".encode("latin-1"),
    "an encoding that is not text": b"# coding: rot13\nx = 1\n",
    "an encoding that never works": b"# coding: undefined\nx = 1\n",
    "lone surrogate": b"x = '\xed\xa0\x80'",
    "byte order mark": "﻿x = 1".encode(),
    "ten megabytes of one line": b"x = 1;" * 1_700_000,
    "ten megabytes of lines": b"a = 1\n" * 1_700_000,
    "ten megabytes of one string": b"'" + b"a" * 10_000_000 + b"'",
    "open brackets": "(" * 5_000,
    "deep parentheses": "x = " + "(" * 150 + "1" + ")" * 150,
    "minus signs": "-" * 100_000 + "1",
}
HEAVY: dict[str, str | bytes] = {
    "deep sum in a kernel": kernel(["y = " + "+".join(["x"] * 700)]),
    "long sum": "x = " + "+".join(["1"] * 50_000),
    "long attribute": "x" + ".a" * 50_000,
    "long call chain": "x" + "()" * 20_000,
    "long subscript chain": "x" + "[0]" * 20_000,
    "many elifs": "if a:\n pass\n" + "elif a:\n pass\n" * 3_000,
    "alias chain": "".join(f"a{i} = a{i + 1}\n" for i in range(20_000)),
    "alias circle": HEAD + "a = b\nb = c\nc = a\na.load\n",
    "one name many aliases": "a = a\n" * 20_000,
    "chain in a kernel": kernel([f"a{i} = a{i + 1}" for i in range(10_000)]),
    "chain the other way": kernel([f"a{i + 1} = a{i} + tl.load(x + a{i})" for i in range(2_500)]),
    "everything feeds everything": kernel([f"a{i % 50} = a{(i * 7) % 50} + a{(i * 3) % 50}" for i in range(2_500)]),
    "many loads": kernel(["x = tl.load(x + tl.load(x + n))"] * 5_000),
    "many stores": kernel(["tl.store(x + tl.arange(0, B), tl.load(x + n))"] * 3_000),
    "nested loops": nested("for i in range(n):", 60, "n += tl.load(x + i)\n") + TAIL,
    "nested ifs": nested("if n > tl.load(x):", 60, "n += 1\n") + TAIL,
    "nested whiles": nested("while n < tl.load(x):", 60, "n += 1\n") + TAIL,
    "loops in a row": kernel(["for i in range(n):", "    x += tl.load(x + i)"] * 1_500),
    "many kernels": HEAD + "".join(f"@triton.jit\ndef f{i}(x):\n    f{i + 1}(x)\n" for i in range(3_000)),
    "kernels calling each other": HEAD
    + "".join(f"@triton.jit\ndef f{i}(x):\n" + "".join(f"    f{j}(x)\n" for j in range(60)) for i in range(60))
    + "def g(x):\n    f0[(1,)](x)\n",
    "recursion": HEAD + "@triton.jit\ndef f(x):\n    f(x)\ndef g(x):\n    g(x)\n    f[(1,)](x)\n",
    "namesakes": HEAD + "@triton.jit\ndef f(x):\n    f(x)\n" * 2_000 + "def g(x):\n    f[(1,)](x)\n",
    "many launches": KERNEL + "    tl.store(x, n)\ndef g(x):\n" + "    f[(1,)](x, 4, 64)\n" * 4_000,
    "launch in many loops": KERNEL
    + "    tl.store(x, n)\ndef g(x):\n"
    + "".join(" " * (d + 4) + f"for i{d} in x:\n" for d in range(60))
    + " " * 70
    + "f[(1,)](x, 4, 64)\n",
    "many configs": HEAD
    + "@triton.autotune(configs=["
    + "triton.Config({'B': 64}),\n" * 4_000
    + "], key=['n'])\n@triton.jit\ndef f(x, n, B: tl.constexpr):\n    tl.store(x, n)\n"
    + TAIL,
    "huge numbers": kernel([f"o = tl.arange(0, {'9' * 4_000})", "m: tl.constexpr = 2 ** 2 ** 2 ** 40"])
    + "N = 10 ** 10 ** 10\nM = N << N\n",
    "growing constants": HEAD + "A0 = 3\n" + "".join(f"A{i + 1} = A{i} * A{i}\n" for i in range(200)),
    "many classes": "".join(
        f"class ModelNew:\n    def forward(self, x):\n        return self.f{i}(x)\n" for i in range(2_000)
    ),
    "deep lambda": "f = " + "lambda x: " * 800 + "1",
    "deep comprehension": "x = " + "[" * 80 + "a" + " for a in b]" * 80,
    "long f-string": "x = f'" + "{a}" * 20_000 + "'",
    "semicolons": ";".join(["x = 1"] * 30_000),
    "decorators": HEAD + "@triton.jit\n" * 5_000 + "def f(x): pass\n",
}
SOURCES = STRANGE | HEAVY


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Of this process's own time, so that a busy machine makes no difference."""

    def give_up(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still reading after {seconds} s")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def is_whole(report: LintReport) -> bool:
    """Every rule got through."""
    return bool(report.kernel_type) and STUMBLED not in {finding.id for finding in report.findings}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gets_a_report_in_time(name: str) -> None:
    source = SOURCES[name]
    with within(HANG_SECONDS):
        report = lint_bytes(source if isinstance(source, bytes) else source.encode(), TaskFacts())
    assert is_whole(report)


def test_damaged_kernels_get_a_report() -> None:
    """Cut, spliced and sprinkled with noise, a few hundred times."""
    dice = random.Random(0)
    files = [file.text.encode() for file in read_corpus()]
    for _ in range(300):
        text = bytearray(dice.choice(files))
        other = dice.choice(files)
        cut, start = dice.randrange(len(text)), dice.randrange(len(other))
        text[cut:] = other[start : start + dice.randrange(2_000)]
        for _ in range(dice.choice((0, 0, 1, 5))):
            text[dice.randrange(len(text) or 1) : 0] = bytes([dice.randrange(256)])
        with within(HANG_SECONDS):
            assert is_whole(lint_bytes(bytes(text), TaskFacts()))


@pytest.mark.parametrize("lines", [1, 2, 5])
def test_kernels_with_lines_missing_get_a_report(lines: int) -> None:
    dice = random.Random(lines)
    for file in dice.sample(read_corpus(), 40):
        kept = file.text.splitlines(keepends=True)
        for _ in range(lines):
            del kept[dice.randrange(len(kept))]
        assert is_whole(lint_bytes("".join(kept).encode(), TaskFacts()))


@pytest.mark.parametrize(
    "sources", [STRANGE, pytest.param(HEAVY, marks=pytest.mark.slow_suite)], ids=["strange", "heavy"]
)
def test_the_command_survives_hostile_files(sources: dict[str, str | bytes], tmp_path: Path) -> None:
    paths = []
    for number, source in enumerate(sources.values()):
        path = tmp_path / f"{number}.py"
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        paths.append(str(path))
    command = [sys.executable, "-m", "tilesmith", "lint", "--json", *paths]
    done = subprocess.run(command, capture_output=True, timeout=240, env=dict(os.environ))
    assert done.returncode == 2, done.stderr.decode()[-500:]
    assert done.stdout.count(b'"kernel_type"') == len(paths)
