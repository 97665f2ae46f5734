"""A stand-in for KernelGen's sandbox, which is not public: the names that its tests import, on top of pytest."""

from __future__ import annotations

from pathlib import Path

MODULES = {
    "bench/__init__.py": """
import importlib.util
import types
from pathlib import Path

DOWNLOAD = Path(__file__).parents[1]


def load(kind):
    (path,) = DOWNLOAD.glob(f"*_{kind}.py")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


triton = load("triton")
__getattr__ = load("baseline").__dict__.__getitem__
""",
    "bench/sandbox/__init__.py": "",
    "bench/sandbox/config.py": 'DEVICE = "cpu"\n',
    "bench/sandbox/test/__init__.py": "",
    "bench/sandbox/test/test_parametrize.py": """
import pytest

parametrize = pytest.mark.parametrize


def label(name):
    return lambda function: function
""",
    "bench/sandbox/utils/__init__.py": "",
    "bench/sandbox/utils/accuracy_utils.py": """
import torch


def to_reference(tensor, upcast=False):
    return tensor.double() if upcast else tensor


def gems_assert_close(res, ref, dtype, reduce_dim=1, atol=1e-4):
    assert res.dtype == dtype
    torch.testing.assert_close(res, ref.to(dtype), atol=atol * reduce_dim, rtol=1e-3)
""",
}


def write_sandbox(folder: Path) -> None:
    for name, text in MODULES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
