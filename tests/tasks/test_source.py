"""Reading a task without running it: what is found, and the one line when something is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilesmith.errors import TaskError
from tilesmith.tasks.source import MAX_TASK_BYTES, read_task

GOOD = """
import torch.nn as nn
class Model(nn.Module): pass
def get_inputs(): return []
"""


def written(tmp_path: Path, content: str | bytes, name: str = "mynet.py") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def complaint(path: Path) -> str:
    with pytest.raises(TaskError) as caught:
        read_task(path)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


def test_a_plain_task_is_read(tmp_path):
    task = read_task(written(tmp_path, GOOD))
    assert (task.name, task.model_name, task.inputs_name, task.init_name) == (
        "mynet", "Model", "get_inputs", None,
    )  # fmt: skip


def test_init_function_is_noticed(tmp_path):
    task = read_task(written(tmp_path, GOOD + "def get_init_inputs(): return [3]\n"))
    assert task.init_name == "get_init_inputs"


def test_adapter_line_maps_other_names(tmp_path):
    text = (
        "class Net: pass\ndef batch(): pass\ndef sizes(): pass\n"
        'tilesmith = {"model": "Net", "inputs": "batch", "init": "sizes"}\n'
    )
    task = read_task(written(tmp_path, text))
    assert (task.model_name, task.inputs_name, task.init_name) == ("Net", "batch", "sizes")


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import Model, get_inputs\n",
        "from elsewhere import *\n",
        "try:\n    from a import Model\nexcept ImportError:\n    from b import Model\nget_inputs = lambda: []\n",
    ],
)
def test_imported_names_are_accepted(tmp_path, text):
    assert read_task(written(tmp_path, text)).model_name == "Model"


def test_missing_model_names_the_substitute_and_the_cure(tmp_path):
    text = "import torch.nn as nn\n\nclass MyNet(nn.Module):\n    pass\ndef get_inputs(): return []\n"
    message = complaint(written(tmp_path, text))
    assert "no class Model; found MyNet (line 3)" in message
    assert 'tilesmith = {"model": "MyNet"}' in message


def test_both_missing_are_told_in_one_line(tmp_path):
    message = complaint(written(tmp_path, "class A: pass\ndef make_batch(): pass\n"))
    assert "no class Model and no function get_inputs" in message
    assert 'tilesmith = {"model": "A", "inputs": "make_batch"}' in message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("def get_inputs(:\n", "mynet.py:1: syntax error"),
        ("x = 1\n  y = 2\n", "mynet.py:2: syntax error"),
        (b"x = 1\n# \xff\xfe\n", "mynet.py:2: is not UTF-8"),
        (b"x = 1\n\x00\n", "mynet.py:2: contains a null byte"),
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("(" * 100_000, "mynet.py"),
        ("-" * 200_000 + "1", "mynet.py"),
        ("x = 3\n", "a task defines class Model(nn.Module) and get_inputs()"),
        (GOOD + "tilesmith = {'modle': 'Net'}\n", "mynet.py:5: unknown key 'modle'"),
        (GOOD + "tilesmith = ['Net']\n", "mynet.py:5: write it as"),
        (GOOD + "tilesmith = {'init': 'nowhere'}\n", "names 'nowhere'"),
        (b"#" * (MAX_TASK_BYTES + 1), "larger than 10 MB"),
    ],
)
def test_bad_files_get_one_line_with_the_place(tmp_path, content, expected):
    assert expected in complaint(written(tmp_path, content))


def test_missing_file_and_directory(tmp_path):
    assert "no such file" in complaint(tmp_path / "absent.py")
    assert "is a directory" in complaint(tmp_path)


def test_byte_order_mark_is_no_obstacle(tmp_path):
    assert read_task(written(tmp_path, b"\xef\xbb\xbf" + GOOD.encode())).model_name == "Model"


def test_tasks_package_never_imports_torch():
    code = (
        "import sys, tilesmith.tasks.source, tilesmith.tasks.shrunk_variants, tilesmith.tasks.gpus, "
        "tilesmith.tasks.roofline; sys.exit('torch' in sys.modules or 'triton' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
