from __future__ import annotations

import contextlib
import random

import pytest
from kernel_sources import ATTENTION, FACTORY, GEMM, GRID_STRIDE, HOST_LOOP

from tilesmith.lint import KernelSyntaxError, lint, read_kernel


def test_aliases_lead_to_canonical_names() -> None:
    source = read_kernel(GRID_STRIDE)
    (kernel,) = source.jit_functions
    assert {"load", "store", "arange", "sigmoid"} <= {call.name for call in kernel.calls}
    assert kernel.constexprs == {"B"}


def test_names_imported_inside_a_function_and_assigned() -> None:
    text = "def f():\n    from triton import language as q\n    ld = q.load\n    return ld(q.math.exp(1))\n"
    source = read_kernel(text)
    assert {"triton.language.load", "triton.language.math.exp"} <= set(source.names.dotted.values())


def test_a_parameter_hides_an_import() -> None:
    source = read_kernel("import triton.language as tl\ndef f(tl):\n    return tl.load\n")
    assert "triton.language.load" not in source.names.dotted.values()


def test_an_import_guarded_by_except_still_counts() -> None:
    text = "try:\n    import triton.language as tl\nexcept ImportError:\n    tl = None\nz = tl.load\n"
    assert "triton.language.load" in read_kernel(text).names.dotted.values()


def test_jit_functions_and_their_callees() -> None:
    source = read_kernel(ATTENTION)
    assert [function.name for function in source.jit_functions] == ["inner", "k"]
    assert source.jit_functions[1].callees == {"inner"}
    assert [function.name for function in source.kernels] == ["k"]


def test_autotuned_and_called_jit() -> None:
    assert read_kernel(GEMM).jit_functions[0].autotune
    text = "import triton\n@triton.jit(noinline=True)\ndef f(x): pass\ndef g(y): pass\nh = triton.jit(g)\n"
    assert [function.name for function in read_kernel(text).jit_functions] == ["f", "g"]


def test_launches_know_their_surroundings() -> None:
    (launch,) = read_kernel(HOST_LOOP).launches
    assert launch.kernels == {"k"}
    assert launch.function is not None
    assert launch.function.name == "forward"
    assert len(launch.loops) == 1
    assert read_kernel(FACTORY).launches[0].kernels == {"body"}


LAUNCH_FORMS = {
    "kept for later": "go = k[grid]\n    go(x, 4)",
    "partial": "go = functools.partial(k[grid], x)\n    go(4)",
    "made by a function": "go = make(grid)\n    go(x, 4)",
    "from a table": "go = TABLE['a'][(4,)]\n    go(x, 4)",
    "method": "k.run(x, 4, grid=grid)",
    "inductor": "k.run(x, 4, stream=stream0)",
    "chosen": "(k if x else other)[grid](x, 4)",
}


@pytest.mark.parametrize("form", LAUNCH_FORMS)
def test_launches_in_disguise(form: str) -> None:
    text = (
        "import functools\nimport triton\n@triton.jit\ndef k(x, n): pass\n@triton.jit\ndef other(x, n): pass\n"
        "TABLE = {'a': k}\ndef make(grid):\n    return k[grid]\n"
        f"def f(x):\n    grid = (4,)\n    {LAUNCH_FORMS[form]}\n"
    )
    (launch,) = read_kernel(text).launches
    assert "k" in launch.kernels
    assert launch.function is not None
    assert launch.function.name == "f"


@pytest.mark.parametrize("text", ["k(x, 4)", "go = k\n    go(x, 4)", "step(x)", "x.run(x, grid=1)"])
def test_what_is_no_launch(text: str) -> None:
    source = f"import triton\n@triton.jit\ndef k(x, n): pass\ndef f(x):\n    {text}\n"
    assert read_kernel(source).launches == ()


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n\0",
        "(" * 5000,
        "x = " + "(" * 150,
        "-" * 100_000 + "1",
        "x = " + "+".join(["1"] * 50_000),
        "x" + ".a" * 50_000,
        "a = 1\n" * 600_000,
        GEMM[: len(GEMM) // 2] + "(",
        "\ud800 = 1",
        "def f(:\n  pass",
        "if a:\n pass\n" + "elif a:\n pass\n" * 3000,
    ],
    ids=range(11),
)
def test_unreadable_sources_raise_one_kind_of_error(text: str) -> None:
    with pytest.raises(KernelSyntaxError):
        read_kernel(text)


def test_syntax_errors_name_their_line() -> None:
    with pytest.raises(KernelSyntaxError) as caught:
        read_kernel("x = 1\ny = = 2\n")
    assert caught.value.line == 2


def test_too_large_says_so() -> None:
    with pytest.raises(KernelSyntaxError, match="too large to read"):
        read_kernel("#" * 3_000_000)


def test_random_bytes_and_truncations_never_crash() -> None:
    dice = random.Random(0)
    noise = [bytes(dice.randrange(256) for _ in range(400)).decode("latin-1") for _ in range(40)]
    cuts = [ATTENTION[: dice.randrange(len(ATTENTION))] for _ in range(40)]
    for text in noise + cuts:
        with contextlib.suppress(KernelSyntaxError):
            lint(read_kernel(text))
