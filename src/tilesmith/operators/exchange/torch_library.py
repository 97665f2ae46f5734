"""An operator registered with torch.library, so that torch.compile, export and autograd know it.

On a GPU it is a `triton_op`, into whose kernels the compiler sees; where Triton's interpreter runs the kernels, or
no launch could be wrapped, it is a `custom_op`, which is opaque. Its fake implementation is the launching code
without the launches, or the baseline where they could not be wrapped. Its gradient is that of the PyTorch baseline,
computed anew in the backward pass."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.operators.exchange import provenance
from tilesmith.operators.exchange.interface_text import returns_several, standalone
from tilesmith.operators.exchange.sample_inputs import inputs_of
from tilesmith.operators.records import Project
from tilesmith.operators.source_edits import with_imports, with_wrapped_launches
from tilesmith.operators.writing import render_text

WRAP_TRITON = """
if os.environ.get("TRITON_INTERPRET") == "1":
    from torch._subclasses import FakeTensor

    class wrap_triton:
        \"\"\"A kernel in the interpreter: tensors without data, a compiler's, launch nothing. Of several
        configurations the first is taken, for there are no times to choose by.\"\"\"

        def __init__(self, kernel):
            self.kernel = kernel
            if hasattr(kernel, "configs"):
                kernel.configs = kernel.configs[:1]

        def __getitem__(self, grid):
            def launch(*args, **kwargs):
                if not any(isinstance(one, FakeTensor) for one in (*args, *kwargs.values())):
                    self.kernel[grid](*args, **kwargs)

            return launch

else:
    from torch.library import wrap_triton
"""


def exported_files(project: Project, texts: Mapping[str, str]) -> dict[str, str]:
    operator, header = standalone(project.operator), provenance.header(project, texts)
    package, kernels = f"{operator.name}_library", with_wrapped_launches(texts["triton"], "wrap_triton")
    wrapped = kernels != texts["triton"]
    if wrapped:
        kernels = with_imports(kernels, "" if "import os\n" in kernels else "import os\n\n", WRAP_TRITON)
    values = {
        "operator": operator,
        "header": header,
        "package": package,
        "wrapped": wrapped or "wrap_triton(" in kernels,
        "names": [one.name for one in operator.parameters],
        "inputs": inputs_of(operator, "DEVICE"),
        "several": returns_several(operator),
    }
    return {
        f"{package}/__init__.py": render_text("exchange/library_init.py.j2", **values),
        f"{package}/kernels.py": header + kernels,
        f"{package}/reference.py": header + texts["baseline"],
        f"test_{package}.py": render_text("exchange/library_test.py.j2", **values),
    }
