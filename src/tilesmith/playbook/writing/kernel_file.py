"""A whole file: docstring, imports, tuning constants, kernel, launcher, ModelNew. In the order people read it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from tilesmith.playbook.recipe import Tuning
from tilesmith.playbook.writing.task_code import NEW_NAME, TaskCode

_WIDTH = 110


@dataclass(frozen=True)
class KernelParts:
    """A kernel and the function that launches it, as lines of source."""

    name: str
    pointers: tuple[str, ...]
    sizes: tuple[str, ...]
    scalars: tuple[str, ...]
    meta: tuple[str, ...]
    body: tuple[str, ...]
    helpers: tuple[str, ...]
    launcher: tuple[str, ...]


@dataclass(frozen=True)
class KernelFile:
    summary: tuple[str, ...]
    """Lines of the module's docstring."""
    tuning: Tuning
    kernel: KernelParts
    code: TaskCode
    forward: tuple[str, ...]
    """Body of `forward`."""


def render_file(page: KernelFile) -> str:
    blocks = [
        _docstring(page.summary),
        "\n".join(_imports(page)),
        "\n".join(f"{name} = {value}" for name, value in page.tuning.values),
        *page.code.definitions,
        *page.kernel.helpers,
        "\n".join(_kernel(page.kernel)),
        "\n".join(page.kernel.launcher),
        "\n".join(_model(page)),
    ]
    head, rest = blocks[:3], blocks[3:]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(rest) + "\n"


def _docstring(lines: Sequence[str]) -> str:
    return '"""' + "\n".join(lines) + '\n"""'


def _imports(page: KernelFile) -> list[str]:
    """Sorted as isort does: the standard library and friends the task brought, then torch and triton."""
    own = ["import torch", "import torch.nn as nn", "import triton", "import triton.language as tl"]
    if any("libdevice." in line for line in page.kernel.body):
        own.append("from triton.language.extra import libdevice")
    return [*page.code.imports, *([""] if page.code.imports else []), *own]


def _kernel(kernel: KernelParts) -> list[str]:
    groups = (("pointers", kernel.pointers), ("sizes", kernel.sizes), ("scalars", kernel.scalars))
    lines = ["@triton.jit", f"def {kernel.name}_kernel("]
    for title, names in (*groups, ("meta-parameters", kernel.meta)):
        if names:
            lines += [f"    # {title}", *(f"    {name}," for name in names)]
    return [*lines, "):", *(f"    {line}" for line in kernel.body)]


def _model(page: KernelFile) -> list[str]:
    body = [page.code.body, ""] if page.code.body else []
    head = f"    def forward({page.code.signature}){page.code.returns}:"
    return [f"class {NEW_NAME}({page.code.bases}):", *body, head, *(f"        {line}" for line in page.forward)]


def wrap(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH)
