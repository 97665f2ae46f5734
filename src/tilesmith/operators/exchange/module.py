"""An operator as a plain package: kernels, gradients, the PyTorch reference, and one function that chooses."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.operators.exchange import provenance
from tilesmith.operators.exchange.interface_text import standalone
from tilesmith.operators.records import Project
from tilesmith.operators.writing import render_text


def exported_files(project: Project, texts: Mapping[str, str]) -> dict[str, str]:
    operator, header = standalone(project.operator), provenance.header(project, texts)
    package = render_text(
        "exchange/module_init.py.j2",
        operator=operator,
        header=header,
        arguments=", ".join(one.name for one in operator.parameters),
        tensors=[one.name for one in operator.tensors],
    )
    return {
        f"{operator.name}/__init__.py": package,
        f"{operator.name}/gradients.py": render_text(
            "exchange/module_gradients.py.j2", operator=operator, header=header
        ),
        f"{operator.name}/kernels.py": header + texts["triton"],
        f"{operator.name}/reference.py": header + texts["baseline"],
    }
