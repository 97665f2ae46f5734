"""Kernels and analyses are found however a model wraps them; anything else is refused in one sentence."""

from __future__ import annotations

import ast
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilesmith.forge.replies import UnusableReply, extract_analysis, extract_kernel
from tilesmith.records import COMPLEXITIES, Analysis

KERNEL = """\
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=i < n), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""
IMPORTS, JIT, MODEL = (
    part.strip() + "\n" for part in KERNEL.replace("@triton", "\0@triton").replace("class", "\0class").split("\0")
)
DRAFT = KERNEL.replace("1024", "256")
INDENTED = "".join(f"    {line}\n" if line else "\n" for line in KERNEL.splitlines())
ESCAPED = KERNEL.replace("<", "&lt;")
CUT_AT = KERNEL.index("    tl.store")
CUT = KERNEL[: KERNEL.index("x.numel(), BLOCK")]


def fenced(code: str, language: str = "python", fence: str = "```") -> str:
    return f"{fence}{language}\n{code}{fence}\n"


def same(found: str, wanted: str = KERNEL) -> bool:
    return ast.dump(ast.parse(found)) == ast.dump(ast.parse(wanted))


WRAPPED = {
    "fence": fenced(KERNEL),
    "prose around": f"Sure! Here it is.\n\n{fenced(KERNEL)}\nIt uses `BLOCK=1024`.",
    "tildes": fenced(KERNEL, fence="~~~"),
    "four backticks": fenced(KERNEL, fence="````"),
    "no language": fenced(KERNEL, ""),
    "capital language": fenced(KERNEL, "Python"),
    "language with attributes": fenced(KERNEL, "{.python .numberLines}"),
    "language with a path": fenced(KERNEL, "python:kernel.py"),
    "language on its own line": fenced("python\n" + KERNEL, ""),
    "first import beside the language": fenced(KERNEL.removeprefix("import torch\n"), "python import torch"),
    "no fence": KERNEL,
    "no fence but prose": f"Here is the kernel:\n\n{KERNEL}\nThis kernel masks its loads.",
    "windows line ends": fenced(KERNEL).replace("\n", "\r\n"),
    "old line ends": fenced(KERNEL).replace("\n", "\r"),
    "byte order mark": "\ufeff" + fenced(KERNEL),
    "bare with byte order mark": "\ufeff" + KERNEL,
    "tabs": fenced(KERNEL.replace("    ", "\t")),
    "tabs and spaces mixed": fenced(KERNEL.replace("    y =", "\ty =", 1)),
    "indented in a list": "1. The kernel:\n\n" + "".join(f"    {line}\n" for line in fenced(KERNEL).splitlines()),
    "indented inside": fenced(INDENTED),
    "no-break spaces": fenced(KERNEL.replace("    ", "\u00a0\u00a0\u00a0\u00a0")),
    "zero-width spaces": fenced(KERNEL.replace("import torch", "\u200bimport torch")),
    "entities": fenced(ESCAPED),
    "closing fence on the last line": f"```python\n{KERNEL.rstrip()}```\nDone.",
    "never closed but whole": f"```python\n{KERNEL}",
    "never closed, then prose": f"```python\n{KERNEL}\nThis should be fast.",
    "draft first": f"A first idea:\n{fenced(DRAFT)}\nBetter:\n{fenced(KERNEL)}",
    "usage after": f"{fenced(KERNEL)}\nUse it so:\n{fenced('model = ModelNew()' + chr(10))}",
    "shell before": f"{fenced('pip install triton' + chr(10), 'bash')}\n{fenced(KERNEL)}",
    "cut-off second try": f"{fenced(KERNEL)}\nOr even faster:\n```python\n{CUT}",
    "thinking": f"<think>Maybe\n{fenced(DRAFT)}no</think>\n{fenced(KERNEL)}",
    "thinking twice": f"<think>a</think>{fenced(KERNEL)}<think>{fenced(DRAFT)}</think>",
    "thinking never opened": f"so I try\n{fenced(DRAFT)}</think>\n{fenced(KERNEL)}",
    "thinking never closed": f"<thinking>\nLet me see.\n{fenced(KERNEL)}",
    "reasoning in capitals": f"<REASONING>{fenced(DRAFT)}</REASONING>{fenced(KERNEL)}",
    "nested thinking": f"<think><think>{fenced(DRAFT)}</think></think>{fenced(KERNEL)}",
    "parts": f"The kernel:\n{fenced(IMPORTS + JIT)}\nThe module:\n{fenced(MODEL)}",
    "three parts": "\nThen:\n".join(fenced(part) for part in (IMPORTS, JIT, MODEL)),
    "parts cut inside a function": fenced(KERNEL[:CUT_AT]) + "and on:\n" + fenced(KERNEL[CUT_AT:]),
    "JSON": json.dumps({"code": KERNEL}),
    "fenced JSON": fenced(json.dumps({"explanation": "fast", "code": KERNEL}, indent=1) + "\n", "json"),
    "JSON around a fence": json.dumps({"answer": fenced(KERNEL)}),
    "tool call": f"<tool_call>{json.dumps({'name': 'write', 'arguments': {'content': KERNEL}})}</tool_call>",
    "tool call with JSON inside": json.dumps({"function": {"arguments": json.dumps({"code": KERNEL})}}),
    "tagged": f'<invoke name="write">\n<parameter name="code">\n{KERNEL}</parameter>\n</invoke>',
    "tagged and escaped": f"<answer><code>\n{ESCAPED}</code></answer>",
}


@pytest.mark.parametrize("reply", [pytest.param(text, id=name) for name, text in WRAPPED.items()])
def test_the_kernel_is_found(reply: str) -> None:
    assert same(extract_kernel(reply))


def test_a_fence_inside_a_docstring_does_not_end_the_code() -> None:
    found = extract_kernel(fenced('"""Use:\n```\nModelNew()\n```\n"""\n' + KERNEL))
    assert same(found.partition('"""\n')[2])


def test_entities_that_are_python_by_chance_are_meant_as_entities() -> None:
    code = "n = 3\ni = 2\ninside = i &lt; n\nclass ModelNew:\n    pass\n"
    assert "inside = i < n" in extract_kernel(fenced(code))


def test_entities_in_strings_are_left_alone() -> None:
    code = 'html = "&lt;b&gt;"\nclass ModelNew:\n    pass\n'
    assert extract_kernel(fenced(code)) == code


def test_a_block_that_is_no_python_is_left_to_the_judge() -> None:
    broken = KERNEL.replace("def forward(self, x):", "def forward(self, x)")
    assert extract_kernel(fenced(broken)) == broken


def test_the_kernel_of_a_whole_network_is_not_too_long() -> None:
    long = KERNEL + "layer = 1\n" * 50_000
    assert extract_kernel(fenced(long)) == long


def test_a_kernel_is_not_joined_with_what_it_does_not_need() -> None:
    other = "def unrelated(x):\n    return x\n"
    assert "unrelated" not in extract_kernel(fenced(other) + fenced(KERNEL))


REFUSED = {
    "empty": ("", "empty"),
    "blank": (" \n\n", "empty"),
    "prose": ("I would fuse the two kernels and use larger tiles.", "no `class ModelNew`"),
    "other code": (fenced("import torch\nx = 1\n"), "no `class ModelNew`"),
    "the reference": (fenced(KERNEL.replace("ModelNew", "Model")), "no `class ModelNew`"),
    "cut off": (f"```python\n{CUT}", "cut off"),
    "cut off after prose": (f"Here:\n\n```python\n{CUT}", "cut off"),
    "diff": (fenced("@@ -1,3 +1,4 @@\n import torch\n-x\n+class ModelNew(nn.Module):\n", "diff"), "diff"),
    "bare diff": ("--- a/k.py\n+++ b/k.py\n@@ -3,4 +3,4 @@\n class ModelNew(nn.Module):\n-    a\n+    b\n", "diff"),
    "search and replace": (fenced("<<<<<<< SEARCH\nclass ModelNew:\n=======\n>>>>>>> REPLACE\n"), "diff"),
    "only thought": (f"<think>{fenced(KERNEL)}</think>I cannot do it.", "no `class ModelNew`"),
    "named in prose": ("First, `class ModelNew` must launch the kernel.", "not in a code block"),
    "too long": (fenced(KERNEL + "#" * 1_000_000 + "\n"), "at most 1,000,000"),
    "too long and bare": ("import torch\n" * 90_000 + KERNEL, "1,000,000"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "why"), REFUSED.values(), ids=REFUSED)
def test_what_holds_no_kernel_is_refused(reply: str, why: str) -> None:
    with pytest.raises(UnusableReply, match=why) as caught:
        extract_kernel(reply)
    assert str(caught.value) == caught.value.problem
    assert "\n" not in caught.value.problem


FIELDS = {
    "bottleneck": "6150 launches",
    "optimization_method": "one persistent kernel",
    "modification_plan": "move the loop inside",
    "expected_speedup": 8.5,
    "implementation_complexity": "persistent",
    "kernel_type": "persistent_recurrent",
    "fallback_strategy": "cuDNN",
}
ANALYSIS = Analysis(
    "6150 launches",
    "one persistent kernel",
    "move the loop inside",
    8.5,
    "persistent",
    "persistent_recurrent",
    "cuDNN",
)
TEXT = json.dumps(FIELDS, indent=2)
RENAMED = {
    "Bottleneck": FIELDS["bottleneck"],
    "optimization method": FIELDS["optimization_method"],
    "Modification-Plan": FIELDS["modification_plan"],
    "expectedSpeedup": "8.5x",
    "Implementation Complexity": "Persistent.",
    "kernel type": FIELDS["kernel_type"],
    "fallback": FIELDS["fallback_strategy"],
}
OBJECTS = {
    "bare": TEXT,
    "one line": json.dumps(FIELDS),
    "fenced": fenced(TEXT + "\n", "json"),
    "prose around": f"Let me look at {{this}}.\n{TEXT}\nI hope this helps {{really}}!",
    "thinking": f'<think>{{"bottleneck": "?"}}</think>{TEXT}',
    "trailing commas": TEXT.replace("\n}", ",\n}"),
    "single quotes": str(FIELDS),
    "comments": TEXT.replace("{", "{ // analysis", 1).replace("8.5,", "8.5, # a guess\n /* really */"),
    "no quotes around keys": TEXT.replace('"bottleneck"', "bottleneck").replace('"kernel_type"', "kernel_type"),
    "British": TEXT.replace("optimization_method", "Optimisation_Method"),
    "renamed": json.dumps(RENAMED),
    "wrapped": json.dumps({"analysis": FIELDS}),
    "in a list": json.dumps([FIELDS]),
    "quotes inside": TEXT.replace("6150 launches", '6150 launches').replace("cuDNN", "cuDNN"),
    "commas forgotten": TEXT.replace(",\n", "\n"),
    "extra keys": json.dumps({"confidence": 0.5, **FIELDS, "notes": [1, {"a": None}]}),
    "an example before": '{"bottleneck": "...", "kernel_type": "..."}\n' + TEXT,
    "curly quotes": TEXT.replace('"cuDNN"', "“cuDNN”"),
    "None and True": str({**FIELDS, "seen": [1, None, True]}),
}  # fmt: skip


@pytest.mark.parametrize("reply", [pytest.param(text, id=name) for name, text in OBJECTS.items()])
def test_the_analysis_is_found(reply: str) -> None:
    assert extract_analysis(reply) == ANALYSIS


def test_quotes_and_lines_inside_a_value() -> None:
    text = TEXT.replace("6150 launches", 'the "hot" loop\nof 512 steps')
    assert extract_analysis(text).bottleneck == 'the "hot" loop\nof 512 steps'


def test_half_a_character_ends_no_run() -> None:
    assert extract_analysis(json.dumps({**FIELDS, "bottleneck": "slow \ud800"})).bottleneck == "slow ?"


def test_a_plan_in_steps_becomes_lines() -> None:
    assert (
        extract_analysis(json.dumps({**FIELDS, "modification_plan": ["tile", "fuse"]})).plan == "1. tile\n2. fuse"
    )


@pytest.mark.parametrize(
    ("said", "meant"),
    [(2, 2.0), ("2.5x", 2.5), ("~1.8×", 1.8), ("1.5-2x", 1.75), ("1.5x to 2.5x", 2.0), ("2–4x", 3.0), ("30%", 1.3),
     ("about 3 times faster", 3.0), (0.9, 0.9), (None, None)],
)  # fmt: skip
def test_speedups_as_models_write_them(said: object, meant: float | None) -> None:
    assert extract_analysis(json.dumps({**FIELDS, "expected_speedup": said})).expected_speedup == pytest.approx(
        meant
    )


@pytest.mark.parametrize(
    ("said", "meant"),
    [("LOW", "low"), ("Medium (some care)", "medium"), ("medium-high", "high"), ("persistent: high", "persistent"),
     ("moderate", "medium"), ("simple", "low")],
)  # fmt: skip
def test_complexities_as_models_write_them(said: str, meant: str) -> None:
    assert extract_analysis(json.dumps({**FIELDS, "implementation_complexity": said})).complexity == meant


WRONG = {
    "no object": ("It is memory-bound.", "no JSON object"),
    "empty": ("", "no JSON object"),
    "missing": (json.dumps({k: v for k, v in FIELDS.items() if k != "kernel_type"}), "lacks kernel_type"),
    "cut off": (TEXT[: TEXT.index("expected")], "no JSON object"),
    "negative": (json.dumps({**FIELDS, "expected_speedup": -2}), "expected_speedup"),
    "negative text": (json.dumps({**FIELDS, "expected_speedup": "-2x"}), "expected_speedup"),
    "zero": (json.dumps({**FIELDS, "expected_speedup": 0}), "expected_speedup"),
    "not a number": (json.dumps({**FIELDS, "expected_speedup": float("nan")}), "expected_speedup"),
    "infinite": (json.dumps({**FIELDS, "expected_speedup": float("inf")}), "expected_speedup"),
    "too large": (TEXT.replace("8.5", "9" * 390), "expected_speedup"),
    "no number": (json.dumps({**FIELDS, "expected_speedup": "large"}), "expected_speedup"),
    "true": (json.dumps({**FIELDS, "expected_speedup": True}), "expected_speedup"),
    "no level": (json.dumps({**FIELDS, "implementation_complexity": "some"}), "implementation_complexity"),
    "nothing said": (json.dumps({**FIELDS, "bottleneck": " ", "kernel_type": None}), "bottleneck.*kernel_type"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "why"), WRONG.values(), ids=WRONG)
def test_a_wrong_analysis_is_refused_by_field(reply: str, why: str) -> None:
    with pytest.raises(UnusableReply, match=why) as caught:
        extract_analysis(reply)
    assert "\n" not in caught.value.problem


HOSTILE = {
    "fences": "```\n" * 250_000,
    "fences with tags": "```python\n" * 100_000,
    "backticks": "`" * 1_000_000,
    "tildes": "~" * 999_999 + "x",
    "braces": "{" * 1_000_000,
    "pairs of braces": "{}" * 500_000,
    "keys": '{"a":' * 200_000,
    "quotes": '{"' + '" ' * 500_000,
    "open comments": "{a:/*x," * 140_000,
    "spaces": "class ModelNew" + " " * 1_000_000,
    "lines": "\n" * 1_000_000,
    "tags": "<think>" * 140_000,
    "closing tags": "</think>" * 120_000,
    "angle brackets": "class ModelNew <" + "<a " * 330_000,
    "models": "class ModelNew:\n    pass\n" * 38_000,
    "blocks of models": "```\nclass ModelNew:\n  x = 1 +\n```\n" * 25_000,
    "brackets": "```\nclass ModelNew: pass\n" + "[" * 1_000_000,
    "minus signs": "```\nclass ModelNew: pass\nx = " + "-" * 200_000 + "1\n```",
    "attributes": "```\nclass ModelNew: pass\nx = a" + ".b" * 100_000 + "\n```",
    "dense code": "```\nclass ModelNew: pass\n" + "x=a+b*c[1]\n" * 26_000 + "```",
    "entities": "```\nclass ModelNew: pass\nif a &lt; b\n" + "&lt;" * 70_000 + "\n```",
    "indents": "```\n" + "".join(" " * (i % 90) + "x\n" for i in range(20_000)) + "class ModelNew: pass\n```",
    "one long string": json.dumps({**FIELDS, "modification_plan": "x" * 1_000_000}),
    "escapes": '{"bottleneck": "' + "\\" * 999_999,
    "numbers": '{"expected_speedup": ' + "9" * 1_000_000,
    "surrogates": "\ud800" * 300_000,
    "nulls": "class ModelNew\0" * 70_000,
}


@pytest.mark.parametrize("reply", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_a_hostile_megabyte_is_answered(reply: str) -> None:
    """Each takes tenths of a second; a reading whose cost grows with the square would not come back for hours."""
    with suppress(UnusableReply):
        extract_kernel(reply)
    with suppress(UnusableReply):
        extract_analysis(reply)


PARTS = st.sampled_from(
    ["```", "```python\n", "~~~\n", "\n", "class ModelNew:", "class ModelNew(nn.Module):\n    pass\n", "{", "}",
     '"', "'", ":", ",", "<think>", "</think>", "&lt;", "\t", "\r", "\\", "bottleneck", '"expected_speedup": 2',
     "[", "]", "@@ -1", "//", "/*", "\0", "\ufeff", "\ud800", "import torch\n", KERNEL, TEXT, "“", "None",
     "-1e999", "<a>"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(PARTS | st.text(max_size=20), max_size=30).map("".join))
def test_any_text_is_answered_or_refused(text: str) -> None:
    with suppress(UnusableReply):
        assert "ModelNew" in extract_kernel(text)
    with suppress(UnusableReply):
        assert extract_analysis(text).complexity in COMPLEXITIES
