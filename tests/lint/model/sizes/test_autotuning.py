"""Configs are counted however they were made; a meta-parameter set twice is an error only when that is certain."""

from __future__ import annotations

import pytest

from tilesmith.lint import lint, read_kernel
from tilesmith.records import Severity

HEAD = "import itertools\nimport torch\nimport triton\nimport triton.language as tl\n"
KERNEL = """
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
"""
LAUNCH = """
def copy(x):
    y = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel(), {given})
    return y
"""
SPACES = {
    "written out": ("", "[triton.Config({'B': 64}), triton.Config({'B': 128}, num_warps=8)]", 2),
    "comprehension": ("", "[triton.Config({'B': b}, num_warps=w) for b in (64, 128) for w in [1, 2, 4]]", 6),
    "product": ("", "[triton.Config({'B': b}) for b, s in itertools.product([64, 128], range(3))]", 6),
    "powers": ("", "[triton.Config(dict(B=2**i)) for i in range(5, 11)]", 6),
    "named list": ("SIZES = [64, 128]\nSPACE = [triton.Config({'B': b}) for b in SIZES]\n", "SPACE", 2),
    "sum of lists": ("A = [triton.Config({'B': 64})]\n", "A + [triton.Config({'B': b}) for b in (1, 2)]", 3),
    "function": ("def space():\n    return [triton.Config({'B': b}) for b in (16, 32, 64)]\n", "space()", 3),
    "appended": (
        "def space():\n    found = []\n    for b in (64, 128):\n        for w in (2, 4):\n"
        "            found.append(triton.Config({'B': b}, num_warps=w))\n    return found\n",
        "space()",
        4,
    ),
    "filtered": ("", "[triton.Config({'B': b}) for b in (64, 128) if b > 64]", None),
    "imported": ("from tuning import SPACE\n", "SPACE", None),
}


@pytest.mark.parametrize("style", SPACES)
def test_configs_are_counted(style: str) -> None:
    before, space, count = SPACES[style]
    source = read_kernel(f"{HEAD}{before}\n@triton.autotune(configs={space}, key=['n']){KERNEL}")
    tuner = source.jit_functions[0].autotune
    assert tuner is not None
    assert tuner.count == count
    assert tuner.meta == (frozenset() if style == "imported" else {"B"})


def severities(decorators: str, given: str) -> set[Severity]:
    text = f"{HEAD}\n{decorators}{KERNEL}{LAUNCH.format(given=given)}"
    return {f.severity for f in lint(read_kernel(text)).findings if f.id == "meta-parameter-twice"}


TUNED = "@triton.autotune(configs=[triton.Config({'B': 64}), triton.Config({'B': 128})], key=['n'])"
HEURISTIC = "@triton.heuristics({'B': lambda args: 128})"


@pytest.mark.parametrize("given", ["B=64", "num_warps=8", "64", "num_stages=2"])
def test_the_tuner_and_the_launch_may_not_both_set_it(given: str) -> None:
    assert severities(TUNED, given) == {Severity.ERROR}


def test_a_heuristic_wins_silently() -> None:
    assert severities(HEURISTIC, "B=64") == {Severity.WARNING}


@pytest.mark.parametrize(
    ("decorators", "given"),
    [
        (f"@wrapped\n{TUNED}", "B=64"),
        (TUNED.replace("triton.Config({'B': 64})", "triton.Config({'B': 64}, num_warps=warps)"), "num_warps=8"),
    ],
)
def test_what_may_still_work_is_a_warning(decorators: str, given: str) -> None:
    assert severities(decorators, given) == {Severity.WARNING}


@pytest.mark.parametrize(
    ("decorators", "given"),
    [
        ("", "B=64, num_warps=8"),
        (TUNED, ""),
        (
            TUNED.replace("{'B': 64}", "{'B': 64}, num_warps=None").replace(
                "{'B': 128}", "{'B': 128}, num_warps=None"
            ),
            "num_warps=8",
        ),
    ],
)
def test_one_side_is_fine(decorators: str, given: str) -> None:
    assert severities(decorators, given) == set()
