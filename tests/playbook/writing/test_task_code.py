"""What ModelNew takes over from the task: enough to be built alike, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.task_code import TaskCode, read_task_code
from tilesmith.records import Survey, TaskProfile

TASK = '''
import math, json
import torch
from torch import nn
from torch.nn import functional as F

WIDTH = 2 * HALF if (HALF := 8) else 0
BATCH = 4
UNUSED = 1


def doubled(x):
    return 2 * x


class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.full((size,), math.pi))


class Model(nn.Module):
    """Says what it does."""

    kind = "plain"

    def __init__(self, size=doubled(3), BATCH=1):
        super(Model, self).__init__()
        self.scale = Scale(size + WIDTH)  # keeps its comment
        self.batch = BATCH
        self._prepare()

    def _prepare(self):
        self.prepared = True

    def _only_forward(self, x):
        return F.relu(x)

    def forward(self, x: torch.Tensor, twice: bool = False) -> torch.Tensor:
        return self._only_forward(x)


def get_inputs():
    return [torch.randn(BATCH, 3)]
'''


def code_of(text: str, **facts: Any) -> TaskCode:
    return read_task_code(Survey("task", text, "cpu", TaskProfile(), None, None, None, **facts))


def test_the_constructor_comes_with_all_it_needs():
    code = code_of(TASK)
    assert code.imports == ("import math",)
    assert [text.split("\n")[0] for text in code.definitions] == [
        "WIDTH = 2 * HALF if (HALF := 8) else 0",
        "def doubled(x):",
        "class Scale(nn.Module):",
    ]
    assert code.bases == "nn.Module"
    assert code.signature == "self, x: torch.Tensor, twice: bool=False"
    assert code.returns == " -> torch.Tensor"


def test_the_class_is_taken_over_word_for_word_under_its_new_name():
    body = code_of(TASK).body
    assert "super(ModelNew, self).__init__()" in body
    assert "self.scale = Scale(size + WIDTH)  # keeps its comment" in body
    assert 'kind = "plain"' in body
    assert "def _prepare(self):" in body


def test_what_only_forward_uses_stays_behind():
    code = code_of(TASK)
    text = "\n".join([*code.imports, *code.definitions, code.body])
    for name in ("_only_forward", "functional", "UNUSED", "get_inputs", "json", "Says what it does"):
        assert name not in text
    assert "BATCH = 4" not in text  # the constructor's own argument, not the constant


def test_a_model_of_another_name():
    adapted = TASK.replace("Model(nn.Module)", "Net(nn.Module)").replace("super(Model", "super(Net")
    code = code_of(adapted + '\ntilesmith = {"model": "Net"}\n')
    assert "super(ModelNew, self).__init__()" in code.body


def test_a_model_without_constructor():
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return x\n"
    code = code_of(f"import torch.nn as nn\n{model}def get_inputs(): return []")
    assert code.body == ""
    assert code.signature == "self, x"


def test_a_model_from_elsewhere_is_refused():
    with pytest.raises(Unmatched, match="from another file"):
        code_of("from zoo import Model\ndef get_inputs(): return []")


def written(text: str) -> dict[str, Any]:
    """What the taken-over parts define when they are run as a file, `ModelNew` among them."""
    code = code_of(text)
    head = f"class ModelNew({code.bases}):"
    forward = f"    def forward({code.signature}){code.returns}:\n        return None\n"
    own = "import torch\nimport torch.nn as nn"
    parts = [*code.imports, own, *code.definitions, head, *([code.body] if code.body else []), forward]
    found: dict[str, Any] = {"__name__": "written"}
    exec(compile("\n".join(parts), "written.py", "exec"), found)
    return found


def of(body: str, above: str = "", bases: str = "nn.Module") -> str:
    return (
        f"import torch\nfrom torch import nn\n{above}\nclass Model({bases}):\n{body}\ndef get_inputs(): return []\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        "  def __init__(self):\n    super(Model, self).__init__()\n    self.n = 3\n"
        "  def forward(self, x):\n    return x\n",
        "\tdef __init__(self):\n\t\tsuper().__init__()\n\t\tself.n = 3\n\tdef forward(self, x):\n\t\treturn x\n",
        "    def __init__(self):\n        super(Model, self).__init__()\n# at column 0\n        self.n = 3\n"
        "    def forward(self, x):\n        return x\n",
        "    def __init__(self):\n        \"\"\"Is\nit at column 0.\"\"\"\n        super(Model, self).__init__()\n"
        "        self.n = 3\n"
        "    def forward(self, x):\n        return x\n",
        "    def __init__(self):\n        n = 'é€😀'; super(Model, self).__init__(); self.n = len(n)\n"
        "    def forward(self, x):\n        return x\n",
        "    kind = 1; n = 3\n    def forward(self, x):\n        return x\n",
        "    n = 3  # \u2028 ends no line\n    def __init__(self):\n        super(Model, self).__init__()\n"
        "    def forward(self, x):\n        return x\n",
    ],
)  # fmt: skip
def test_unusual_layouts_are_taken_over_whole(body: str) -> None:
    found = written(of(body))["ModelNew"]
    assert found().n == 3
    assert "forward" in vars(found)


def test_a_method_that_a_base_class_calls_comes_along() -> None:
    above = "class Shell(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.build()\n"
    body = "    def build(self):\n        self.n = 3\n    def forward(self, x):\n        return self.extra(x)\n"
    only_forward = "    def extra(self, x):\n        return x\n"
    found = written(of(body + only_forward, above, "Shell"))["ModelNew"]
    assert found().n == 3
    assert not hasattr(found, "extra")


def test_statements_that_change_a_constant_come_along() -> None:
    above = "SIZES = [1]\nSIZES.append(130)\nSIZES[0] = 5\nOTHER = []\nOTHER.append(1)\n"
    body = "    sizes = SIZES\n    def forward(self, x):\n        return x\n"
    found = written(of(body, above))
    assert found["ModelNew"].sizes == [5, 130]
    assert "OTHER" not in found


def test_annotations_that_are_never_evaluated_stay_so() -> None:
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from nowhere import Tensor\n"
    body = "    def forward(self, x: Tensor) -> Tensor:\n        return x\n"
    text = "from __future__ import annotations\n" + of(body, guarded)
    assert code_of(text).imports[0] == "from __future__ import annotations"
    assert "Tensor" not in written(text)


def test_an_import_that_may_fail_comes_along() -> None:
    above = "try:\n    import no_such_package as extra\nexcept ImportError:\n    extra = None\n"
    body = "    n = 3 if extra is None else 4\n    def forward(self, x):\n        return x\n"
    assert written(of(body, above))["ModelNew"].n == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (of("    def forward(self, x): return x\n").replace("class Model", "@twice\nclass Model"), "decorates"),
        (of("    def forward(self, x): return x\n") + "Model.n = 3\n", "changes class Model"),
        (of("    def forward(self, x): return x\n") + "Model = torch.compile(Model)\n", "changes class Model"),
        (of("    def __init__(self):\n        self.n = SMALL\n    def forward(self, x): return x\n")
         + "SMALL = [Model]\n", "makes something out of"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_over_is_declined(text: str, reason: str) -> None:
    with pytest.raises(Unmatched, match=reason):
        code_of(text)


@pytest.mark.parametrize(
    "line", ["from .layers import Scale", "from mine.layers import Scale", "import mine.layers as Scale"]
)
def test_what_a_kernel_cannot_import_is_declined(line: str) -> None:
    body = "    def __init__(self):\n        self.scale = Scale()\n    def forward(self, x): return x\n"
    with pytest.raises(Unmatched, match="its own package"):
        code_of(of(body, line), imports={"mine/layers.py": ""})


def test_the_model_is_the_one_that_was_named() -> None:
    text = (
        of("    def forward(self, x): return x\n") + "class Other(nn.Module):\n    def forward(self, y): return y\n"
    )
    assert code_of(text, model="Other").signature == "self, y"
    with pytest.raises(Unmatched, match="function make"):
        code_of(text + "def make(): return Other()\n", model="make", is_function=True)
