"""The files of an operator as each other home has them, by their path.

`flaggems` follows FlagGems' release 5.0.2 and the layout of its repository. The kernels stay as they are: FlagGems'
`libentry` and `libtuner`, which cache launches and tuning, are left to whoever takes the operator in.

`torch-library` registers the operator with torch.library, so that torch.compile, export and autograd know it. On a
GPU it is a `triton_op`, into whose kernels the compiler sees; where Triton's interpreter runs the kernels, or no
launch could be wrapped, it is a `custom_op`, which is opaque. Its fake implementation is the launching code without
the launches, or the baseline where they could not be wrapped. Its gradient is the baseline's, computed anew in the
backward pass.

`module` is a plain package: kernels, gradients, the PyTorch reference, and one function that chooses. `kernelgen`
is what KernelGen hands out: four files, the tests written against its `bench` sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilesmith.operators.exchange.exported_text import ExportedProject, given_arguments
from tilesmith.operators.kernels.kernel_file import rename
from tilesmith.operators.source_edits import entry_of, parts_of, with_imports, with_prologue, with_wrapped_launches
from tilesmith.operators.writing import render_text

RELEASE = "5.0.2"


def flaggems_files(project: ExportedProject) -> dict[str, str]:
    operator, texts = project.operator, project.texts
    name, reference, device = operator.name, f"torch_{operator.name}", "flag_gems.device"
    source = parts_of(rename(texts["baseline"], {name: reference}))
    facts = {
        "reference": reference,
        "reference_source": source,
        "reference_arguments": project.reference_arguments("utils.to_reference", given_arguments(operator)),
        "comparison": _flaggems_comparison(project),
        "class_name": "".join(part.title() for part in name.split("_")) + "Benchmark",
        "release": RELEASE,
    }
    entry = entry_of(texts["triton"], name, operator.file_name("triton"))
    guard = f"torch_device_fn.device({operator.tensors[0].name}.device)"
    guarded = with_prologue(texts["triton"], entry, f'logger.debug("GEMS {name.upper()}")', guard)
    kernels = with_imports(guarded, "import logging\n\n", render_text("exchange/flaggems_logger.j2"))
    return {
        f"src/flag_gems/fused/{name}.py": project.header + kernels,
        f"tests/test_{name}.py": project.render("flaggems_test.py", device, facts),
        f"benchmark/test_{name}.py": project.render("flaggems_benchmark.py", device, facts),
        f"conf/operators.{name}.yaml": project.render("flaggems_operators.yaml", device, facts),
        f"REGISTER_{name}.md": project.render("flaggems_register.md", device, facts),
    }


def _flaggems_comparison(project: ExportedProject) -> str:
    """FlagGems allows 1e-4 for each element that a result sums; exact operators allow nothing."""
    if project.operator.arithmetic == "exact":
        return "utils.gems_assert_equal(res, ref.to(res.dtype))"
    reduce_dim = f"{project.operator.tensors[0].name}.shape[-1]" if project.is_summed else "1"
    return f"utils.gems_assert_close(res, ref, dtype, equal_nan=True, reduce_dim={reduce_dim})"


def torch_library_files(project: ExportedProject) -> dict[str, str]:
    package, own = f"{project.operator.name}_library", project.texts["triton"]
    kernels = with_wrapped_launches(own, "wrap_triton")
    if kernels != own:
        first = "" if "import os\n" in kernels else "import os\n\n"
        kernels = with_imports(kernels, first, render_text("exchange/wrap_triton.j2"))
    facts = {"package": package, "wrapped": "wrap_triton(" in kernels}
    return {
        f"{package}/__init__.py": project.render("library_init.py", "DEVICE", facts),
        f"{package}/kernels.py": project.header + kernels,
        f"{package}/reference.py": project.header + project.texts["baseline"],
        f"test_{package}.py": project.render("library_test.py", "DEVICE", facts),
    }


def module_files(project: ExportedProject) -> dict[str, str]:
    name = project.operator.name
    return {
        f"{name}/__init__.py": project.render("module_init.py", "", {}),
        f"{name}/gradients.py": project.render("module_gradients.py", "", {}),
        f"{name}/kernels.py": project.header + project.texts["triton"],
        f"{name}/reference.py": project.header + project.texts["baseline"],
    }


def kernelgen_files(project: ExportedProject) -> dict[str, str]:
    operator = project.operator
    varied = {one.name: list(one.values) for one in operator.scalars if len(one.values) > 1}
    given = given_arguments(operator) | {name: name for name in varied}
    allowed = f"reduce_dim={operator.tensors[0].name}.shape[-1]" if project.is_summed else "reduce_dim=1"
    facts = {
        "varied": varied,
        "arguments": ", ".join(given.values()),
        "reference_arguments": project.reference_arguments("to_reference", given),
        "allowed": "atol=0" if operator.arithmetic == "exact" else allowed,
    }
    return {
        operator.file_name("triton"): project.header + project.texts["triton"],
        operator.file_name("baseline"): project.header + project.texts["baseline"],
        f"test_{operator.name}_accuracy.py": project.render("kernelgen_accuracy.py", "device", facts),
        f"test_{operator.name}_performance.py": project.render("kernelgen_performance.py", "device", facts),
    }


HOMES: Mapping[str, Callable[[ExportedProject], dict[str, str]]] = {
    "flaggems": flaggems_files,
    "torch-library": torch_library_files,
    "module": module_files,
    "kernelgen": kernelgen_files,
}
