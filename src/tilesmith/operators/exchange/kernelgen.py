"""An operator as KernelGen hands it out: four files, the tests written against its `bench` sandbox."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.operators.exchange import provenance
from tilesmith.operators.exchange.interface_text import returns_several, standalone
from tilesmith.operators.exchange.sample_inputs import argument, inputs_of, is_upcast
from tilesmith.operators.records import Operator, Project
from tilesmith.operators.writing import render_text


def exported_files(project: Project, texts: Mapping[str, str]) -> dict[str, str]:
    operator, header = standalone(project.operator), provenance.header(project, texts)
    varied = {one.name: list(one.values) for one in operator.scalars if len(one.values) > 1}
    given = {one.name: one.name if one.name in varied else argument(operator, one) for one in operator.parameters}
    values = {
        "operator": operator,
        "varied": varied,
        "arguments": ", ".join(given.values()),
        "header": header,
        "inputs": inputs_of(operator, "device"),
        "reference_arguments": ", ".join(
            f"to_reference({one.name}, {is_upcast(operator, one)})" if one.is_tensor else given[one.name]
            for one in operator.parameters
        ),
        "several": returns_several(operator),
        "allowed": _allowed(operator),
    }
    return {
        operator.file_name("triton"): header + texts["triton"],
        operator.file_name("baseline"): header + texts["baseline"],
        f"test_{operator.name}_accuracy.py": render_text("exchange/kernelgen_accuracy.py.j2", **values),
        f"test_{operator.name}_performance.py": render_text("exchange/kernelgen_performance.py.j2", **values),
    }


def _allowed(operator: Operator) -> str:
    """What a result may differ by, as the sandbox takes it: 1e-4 for each element that is summed."""
    if operator.arithmetic == "exact":
        return "atol=0"
    summed = operator.arithmetic in ("reduction", "product") and operator.tensors[0].shape
    return f"reduce_dim={operator.tensors[0].name}.shape[-1]" if summed else "reduce_dim=1"
