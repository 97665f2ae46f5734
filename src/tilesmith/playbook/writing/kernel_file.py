"""A whole file: docstring, imports, tuning constants, kernel, launcher, ModelNew. In the order people read it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilesmith.playbook.recipe import KernelParts, RegionText, Tuning, join_tunings
from tilesmith.playbook.writing.task_code import NEW_NAME, TaskCode

_WIDTH = 110


@dataclass(frozen=True)
class KernelFile:
    summary: tuple[str, ...]
    """Lines of the module's docstring."""
    regions: tuple[RegionText, ...]
    code: TaskCode
    classes: tuple[str, ...]
    """ModelNew, and what it needs before it."""
    tuning: Tuning
    """Constants that are not those of a region."""


def render_file(page: KernelFile) -> str:
    helpers = dict.fromkeys(helper for region in page.regions for helper in region.kernel.helpers)
    tuning = join_tunings([*(region.tuning for region in page.regions), page.tuning])
    blocks = [
        _docstring(page.summary),
        "\n".join(_imports(page)),
        "\n".join(f"{name} = {value}" for name, value in tuning.values),
        *page.code.definitions,
        *helpers,
        *(text for region in page.regions for text in _region(region.kernel)),
        *page.classes,
    ]
    head, rest = blocks[:3], blocks[3:]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(rest) + "\n"


def _region(kernel: KernelParts) -> list[str]:
    kernels = [render_kernel(kernel)] if kernel.body else []
    return [*kernels, *(["\n".join(kernel.launcher)] if kernel.launcher else [])]


def _docstring(lines: Sequence[str]) -> str:
    return '"""' + "\n".join(lines) + '\n"""'


def _imports(page: KernelFile) -> list[str]:
    """Sorted as isort does: the standard library and friends the task brought, then torch and triton."""
    own = ["import torch", "import torch.nn as nn", "import triton", "import triton.language as tl"]
    if any("libdevice." in line for one in page.regions for line in (*one.kernel.body, *one.kernel.helpers)):
        own.append("from triton.language.extra import libdevice")
    if any("TensorDescriptor(" in helper for one in page.regions for helper in one.kernel.helpers):
        own.append("from triton.tools.tensor_descriptor import TensorDescriptor")
    brought = list(page.code.imports)
    helpers = [helper for region in page.regions for helper in region.kernel.helpers]
    for name in ("itertools", "threading", "weakref"):
        if any(f"{name}." in text for text in (*page.classes, *helpers)) and f"import {name}" not in brought:
            brought.append(f"import {name}")
    if any("math." in text for text in (*page.classes, *helpers)) and not any(
        "import math" in line for line in brought
    ):
        brought.append("import math")
    return [*brought, *([""] if brought else []), *own]


def render_kernel(kernel: KernelParts) -> str:
    groups = (("pointers", kernel.pointers), ("sizes", kernel.sizes), ("scalars", kernel.scalars))
    lines = ["@triton.jit", f"def {kernel.name}_kernel("]
    for title, names in (*groups, ("meta-parameters", kernel.meta)):
        if names:
            lines += [f"    # {title}", *(f"    {name}," for name in names)]
    return "\n".join([*lines, "):", *(part for line in kernel.body for part in _broken(f"    {line}"))])


def _broken(line: str) -> list[str]:
    """A load whose address is long, on several lines."""
    if len(line) <= _WIDTH or "tl.load(" not in line or "//" not in line:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def write_model(code: TaskCode, methods: Mapping[str, Sequence[str]]) -> str:
    """ModelNew, with the lines of its `forward` and of others that take the same."""
    body = [code.body, ""] if code.body else []
    for name, lines in methods.items():
        body += [f"    def {name}({code.signature}){code.returns}:", *(f"        {line}" for line in lines), ""]
    return "\n".join([f"class {NEW_NAME}({code.bases}):", *body[:-1]])


def wrap(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH)
