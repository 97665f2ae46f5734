"""KernelGen's four files: written so that they run in its sandbox, and read back as the same project."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from exchange_projects import BIAS_ADD, OPERATORS, PICK_AND_MAX, SCALED_SOFTMAX
from kernelgen_sandbox import write_sandbox

from tilesmith.errors import ProjectError, UsageError
from tilesmith.operators.exchange.download import Hints
from tilesmith.operators.exchange.exporting import export_project
from tilesmith.operators.exchange.importing import import_project
from tilesmith.operators.interface import require_one_interface, require_own_tests
from tilesmith.operators.project import code_digest, read_files, read_project
from tilesmith.operators.records import Operator

KERNELS = Path(__file__).parent / "kernels"
IMPORTS = """import bench
from bench.sandbox.test.test_parametrize import parametrize, label
from bench.sandbox.config import DEVICE as device
from bench.sandbox.utils.accuracy_utils import gems_assert_close as assert_close
from bench.sandbox.utils.accuracy_utils import to_reference
import torch

"""


TWO_VALUES = replace(
    PICK_AND_MAX,
    parameters=(*PICK_AND_MAX.tensors, replace(PICK_AND_MAX.scalars[0], value=(0.5, -2.0))),
)


@pytest.mark.parametrize("operator", [*OPERATORS, TWO_VALUES], ids=lambda operator: operator.name)
def test_there_and_back_is_the_same_project(operator: Operator, sample, tmp_path: Path) -> None:
    project = sample(operator)
    export_project(project, "kernelgen", tmp_path / "download")
    imported = import_project(tmp_path / "download", tmp_path / "back", Hints())
    before, after = read_project(project), read_project(tmp_path / "back")
    assert imported.signature == operator.signature
    assert replace(after.operator, summary="") == replace(before.operator, summary="")
    for kind in ("triton", "baseline"):
        assert before.path(kind).read_text() == after.path(kind).read_text()
        assert code_digest(read_files(before)[kind]) == code_digest(read_files(after)[kind])
    assert after.passed == {}
    for kind in ("accuracy", "performance"):
        compile(after.path(kind).read_text(), kind, "exec")


@pytest.mark.parametrize(
    "operator",
    [
        PICK_AND_MAX,
        TWO_VALUES,
        pytest.param(BIAS_ADD, marks=pytest.mark.slow_suite),
        pytest.param(SCALED_SOFTMAX, marks=pytest.mark.slow_suite),
    ],
    ids=lambda operator: operator.name,
)
def test_the_exported_accuracy_test_runs(operator: Operator, sample, python, tmp_path: Path) -> None:
    export_project(sample(operator), "kernelgen", tmp_path / "download")
    write_sandbox(tmp_path / "download")
    test = f"test_{operator.name}_accuracy.py"
    done = python("-m", "pytest", "-q", test, cwd=tmp_path / "download", TRITON_INTERPRET="1")
    count = len(operator.accuracy) * len(operator.dtypes) * math.prod(len(one.values) for one in operator.scalars)
    assert f"{count} passed" in done.stdout, done.stdout


@pytest.fixture
def download(tmp_path: Path) -> Callable[..., Path]:
    """A download of bias_add whose tests say the given lines."""

    def write(accuracy: str, performance: str | None = None) -> Path:
        folder = tmp_path / "download"
        folder.mkdir()
        for kind in ("triton", "baseline"):
            name = f"bias_add_{kind}.py"
            (folder / name).write_text((KERNELS / name).read_text())
        (folder / "test_bias_add_accuracy.py").write_text(IMPORTS + accuracy)
        (folder / "test_bias_add_performance.py").write_text(IMPORTS + (performance or accuracy))
        return folder

    return write


STYLES = {
    "names of their own": (
        """@parametrize("P, D", [(4, 8), (5, 7)])
@parametrize("dtype", [torch.float16])
def test_bias_add(P, D, dtype):
    x = torch.randn(P, D, dtype=dtype, device=device)
    bias = torch.rand((D,), dtype=dtype).to(device)
    assert_close(bench.triton.bias_add(x, bias), bench.bias_add(x, bias), dtype)
""",
        (("P", "D"), ("D",)),
        ({"P": 4, "D": 8}, {"P": 5, "D": 7}),
    ),
    "one shape": (
        """SHAPES = [(2**4, 64), (64, 64)]


@parametrize("shape", SHAPES + [(1, 3)])
@parametrize("dtype", [torch.float16])
def test_bias_add(shape, dtype):
    x = torch.randn(shape, dtype=dtype, device=device)
    x = x.contiguous()
    bias = torch.randn(x.shape[-1], dtype=dtype, device=device) * 2
    res = bench.triton.bias_add(x=x, bias=bias)
""",
        (("M", "N"), ("N",)),
        ({"M": 16, "N": 64}, {"M": 64, "N": 64}, {"M": 1, "N": 3}),
    ),
    "shapes of several ranks": (
        """@parametrize("shape", [(512,), (2, 3, 4), ()])
@parametrize("dtype", [torch.float16])
def test_bias_add(shape, dtype):
    x = torch.randn(shape, dtype=dtype, device=device)
    bias = torch.zeros((shape[-1],), dtype=dtype, device=device)
    bench.triton.bias_add(x, bias)
""",
        (("...", "N"), ("N",)),
        ({"...": (), "N": 512}, {"...": (2, 3), "N": 4}),
    ),
    "dtypes of several kinds": (
        """@parametrize("P, D", [(4, 8)])
@parametrize("dtype", [torch.half, torch.int32])
def test_bias_add(P, D, dtype):
    x = (torch.randn((P, D), device=device) * 10).to(dtype)
    bias = torch.randint(0, 9, (D,)).to(device).to(dtype)
    bench.triton.bias_add(x, bias)
""",
        (("P", "D"), ("D",)),
        ({"P": 4, "D": 8},),
    ),
    "an unpacked shape": (
        """@parametrize("rows", [1, 5])
@parametrize("shape", [(3, 4)])
@parametrize("dtype", [torch.float16])
def test_bias_add(rows, shape, dtype):
    heads, width = shape
    x = torch.empty([rows, heads * 0 + 6, width], dtype=dtype, device=device)
    bias = torch.ones_like(x)[0, 0]
    bench.triton.bias_add(x, bias)
""",
        None,
        "does not say the shape of x: add  --shape x=M,N",
    ),
}


@pytest.mark.parametrize(("accuracy", "shapes", "cases"), STYLES.values(), ids=STYLES)
def test_shapes_come_from_how_the_test_makes_its_tensors(
    download: Callable[..., Path], tmp_path: Path, accuracy: str, shapes: tuple[tuple[str, ...], ...], cases: object
) -> None:
    folder = download(accuracy)
    if shapes is None:
        with pytest.raises(ProjectError, match=str(cases)):
            import_project(folder, tmp_path / "out", Hints())
        return
    import_project(folder, tmp_path / "out", Hints())
    operator = read_project(tmp_path / "out").operator
    assert tuple(one.shape for one in operator.parameters) == shapes
    assert operator.accuracy == cases == operator.performance
    assert operator.dtypes[0] == "float16"
    assert all(one.dtype is None and one.below is None for one in operator.parameters)


SAYS_LITTLE = """from shapes import SHAPES


@parametrize("shape", SHAPES)
@parametrize("dtype", [torch.float32])
@parametrize("N", 4)
def test_bias_add(shape, dtype, N):
    x = torch.randn(shape, dtype=dtype, device=device)
    bias = torch.randn((shape[-1],), dtype=dtype, device=device)
    bench.triton.bias_add(x, bias)
"""


def test_one_shape_may_be_said_where_the_other_is_read(download: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="does not say the shape of x"):
        import_project(download(SAYS_LITTLE), tmp_path / "out", Hints())
    (test,) = (tmp_path / "download").glob("*_accuracy.py")
    test.write_text(IMPORTS + STYLES["names of their own"][0].replace("torch.rand((D,)", "torch.rand(D // 1"))
    import_project(tmp_path / "download", tmp_path / "out", Hints(shapes={"bias": ("D",)}))
    assert read_project(tmp_path / "out").operator.accuracy == ({"P": 4, "D": 8}, {"P": 5, "D": 7})
    with pytest.raises(ProjectError, match="does not say its sizes: add  --sizes P=64,D=64,K=64"):
        import_project(tmp_path / "download", tmp_path / "other", Hints(shapes={"bias": ("K",)}))


def test_what_cannot_be_derived_is_asked_for_in_one_line(op, download: Callable[..., Path], tmp_path: Path) -> None:
    """The documents' download, whose two tests hold the kernel itself and no test at all."""
    folder = download("")
    asked = op("import", folder, cwd=tmp_path)
    assert (asked.returncode, asked.stderr.count("\n")) == (2, 1)
    assert "test_bias_add_accuracy.py does not say the shape of x: add  --shape x=M,N" in asked.stderr
    shapes = ("--shape", "x=M,N", "--shape", "bias=N")
    asked = op("import", folder, *shapes, cwd=tmp_path)
    assert "test_bias_add_accuracy.py does not say its sizes: add  --sizes M=64,N=64" in asked.stderr
    done = op("import", folder, *shapes, "--sizes", "M=4,N=8", "--sizes", "M=1,N=1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["signature"] == BIAS_ADD.signature
    assert document["notes"] == ["dtypes: none in test_bias_add_accuracy.py; taken as float32, float16, bfloat16"]
    operator = read_project(tmp_path / "bias_add").operator
    assert operator.accuracy == ({"M": 4, "N": 8}, {"M": 1, "N": 1})
    assert operator.parameters[0].shape == ("M", "N")
    assert (tmp_path / "bias_add" / "bias_add_triton.py").read_text().count("x [M, N], bias [N]; ") == 1
    again = op("import", tmp_path / "bias_add", cwd=tmp_path)
    assert "is an operator project already" in again.stderr


SIGNATURES = {
    "a tensor with a default": ("def bias_add(x: torch.Tensor, bias: torch.Tensor = None):", "make it a parameter"),
    "any number of tensors": ("def bias_add(*tensors):", "may have plain parameters only"),
    "a default that is no number": ("def bias_add(x: torch.Tensor, bias: float = torch.pi):", "no number or word"),
    "a body beside its head": ("def bias_add(x, bias): return x", "put its body on lines of its own"),
    "another name": ("def broadcast(x: torch.Tensor, bias: torch.Tensor):", "has no function bias_add"),
}


@pytest.mark.parametrize(("head", "message"), SIGNATURES.values(), ids=SIGNATURES)
def test_an_interface_that_a_project_cannot_say(
    download: Callable[..., Path], tmp_path: Path, head: str, message: str
) -> None:
    folder = download(STYLES["one shape"][0])
    kernel = folder / "bias_add_triton.py"
    rest = kernel.read_text().partition("def bias_add(")
    kernel.write_text(f"{rest[0]}{head}\n" + ("" if "return" in head else "    return x\n"))
    with pytest.raises(ProjectError, match=message):
        import_project(folder, tmp_path / "out", Hints())


BARE = """import torch


def bias_add(x, bias):
    '''Adds \\\\n.'''
    return x + bias
"""


def test_a_project_tells_its_interface_where_the_download_does_not(
    download: Callable[..., Path], tmp_path: Path
) -> None:
    folder = download(STYLES["one shape"][0])
    (folder / "bias_add_baseline.py").write_text(BARE)
    import_project(folder, tmp_path / "out", Hints())
    project = read_project(tmp_path / "out")
    texts = read_files(project)
    require_one_interface(project, texts)
    require_own_tests(project, texts)
    assert texts["baseline"] == BARE.replace(
        "(x, bias):", "(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:"
    ).replace("'''Adds \\\\n.'''", '"""Adds \\\\n.\n\n    x [M, N], bias [N]; float16\n    """')
    (folder / "bias_add_baseline.py").write_text(BARE.replace("bias", "other").replace("other_add", "bias_add"))
    with pytest.raises(ProjectError, match=r"bias_add_baseline.py: bias_add does not take \(x, bias\)"):
        import_project(folder, tmp_path / "other", Hints())


def test_a_scalar_that_no_test_passes_is_asked_for(sample, tmp_path: Path) -> None:
    export_project(sample(PICK_AND_MAX), "kernelgen", tmp_path / "download")
    test = tmp_path / "download" / "test_pick_and_max_accuracy.py"
    test.write_text(test.read_text().replace("(x, index, 0.5)", "(x, index, torch.pi)"))
    with pytest.raises(ProjectError, match="does not say which scale to test with: add  --value scale="):
        import_project(tmp_path / "download", tmp_path / "out", Hints())
    import_project(tmp_path / "download", tmp_path / "out", Hints(values={"scale": 2.0}))
    assert read_project(tmp_path / "out").operator.parameters[2].value == 2.0


def test_what_is_said_is_of_a_parameter_that_there_is(sample, tmp_path: Path) -> None:
    export_project(sample(PICK_AND_MAX), "kernelgen", tmp_path / "download")
    mistakes = {
        "--shape y: there is no such parameter, but x, index": Hints(shapes={"y": ("M",)}),
        "--value x: there is no such parameter, but scale": Hints(values={"x": 2.0}),
        "--value scale=much: scale is float": Hints(values={"scale": "much"}),
    }
    for message, hints in mistakes.items():
        with pytest.raises(UsageError, match=message):
            import_project(tmp_path / "download", tmp_path / "out", hints)


def test_a_folder_without_four_files_is_one_line(tmp_path: Path, download: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        import_project(tmp_path / "nowhere", None, Hints())
    folder = download("")
    (folder / "test_bias_add_performance.py").unlink()
    with pytest.raises(ProjectError, match=r"no file \*_performance.py; a KernelGen download has exactly one"):
        import_project(folder, None, Hints())
