"""An operator as FlagGems keeps one, by its release 5.0.2 and the layout of its repository.

The kernels stay as they are: FlagGems' `libentry` and `libtuner`, which cache launches and tuning, are left to
whoever takes the operator in."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.operators.exchange import provenance
from tilesmith.operators.exchange.interface_text import returns_several, standalone
from tilesmith.operators.exchange.sample_inputs import argument, inputs_of, is_upcast
from tilesmith.operators.kernels.kernel_file import rename
from tilesmith.operators.records import Operator, Project
from tilesmith.operators.source_edits import (
    entry_of,
    parts_of,
    with_imports,
    with_prologue,
)
from tilesmith.operators.writing import render_text

RELEASE = "5.0.2"
LOGGER = """
from flag_gems.runtime import torch_device_fn

logger = logging.getLogger(__name__)
"""


def exported_files(project: Project, texts: Mapping[str, str]) -> dict[str, str]:
    operator = standalone(project.operator)
    name, reference = operator.name, f"torch_{operator.name}"
    values = {
        "operator": operator,
        "header": provenance.header(project, texts),
        "verified": provenance.verified(project, texts),
        "release": RELEASE,
        "reference": reference,
        "reference_source": parts_of(rename(texts["baseline"], {name: reference})),
        "inputs": inputs_of(operator, "flag_gems.device"),
        "reference_arguments": ", ".join(_reference_argument(operator, n) for n in range(len(operator.parameters))),
        "comparison": _comparison(operator),
        "several": returns_several(operator),
        "class_name": "".join(part.title() for part in name.split("_")) + "Benchmark",
    }
    return {
        f"src/flag_gems/fused/{name}.py": provenance.header(project, texts)
        + operator_source(operator, texts["triton"]),
        f"tests/test_{name}.py": render_text("exchange/flaggems_test.py.j2", **values),
        f"benchmark/test_{name}.py": render_text("exchange/flaggems_benchmark.py.j2", **values),
        f"conf/operators.{name}.yaml": render_text("exchange/flaggems_operators.yaml.j2", **values),
        f"REGISTER_{name}.md": render_text("exchange/flaggems_register.md.j2", **values),
    }


def operator_source(operator: Operator, text: str) -> str:
    """The kernels' file with FlagGems' logging line, and its device guard around the whole entry."""
    entry = entry_of(text, operator.name, operator.file_name("triton"))
    logging_line = f'logger.debug("GEMS {operator.name.upper()}")'
    guard = f"torch_device_fn.device({operator.tensors[0].name}.device)"
    return with_imports(with_prologue(text, entry, logging_line, guard), "import logging\n\n", LOGGER)


def _reference_argument(operator: Operator, number: int) -> str:
    """A tensor as FlagGems' tests hand it to a reference: in float64 where it holds floats."""
    parameter = operator.parameters[number]
    if not parameter.is_tensor:
        return argument(operator, parameter)
    return f"utils.to_reference({parameter.name}, {is_upcast(operator, parameter)})"


def _comparison(operator: Operator) -> str:
    """FlagGems allows 1e-4 for each element that a result sums; exact operators allow nothing."""
    if operator.arithmetic == "exact":
        return "utils.gems_assert_equal(res, ref.to(res.dtype))"
    summed = operator.arithmetic in ("reduction", "product")
    reduce_dim = f"{operator.tensors[0].name}.shape[-1]" if summed and operator.tensors[0].shape else "1"
    return f"utils.gems_assert_close(res, ref, dtype, equal_nan=True, reduce_dim={reduce_dim})"
