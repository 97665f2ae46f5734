"""Recorded launches go through the real compilers; failures name the line in the candidate."""

import os
import subprocess
import sys
from pathlib import Path

import compile_kernels as kernels
import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tilesmith.worker.compile import CompileFailure, compile_launch, distinct
from tilesmith.worker.compile.failure import explain
from tilesmith.worker.engines.recorder import recording


def launches_of(run, **options):
    with recording(**options) as launches:
        run()
    return distinct(launches)


def compiled(run, target="sm_90"):
    (launch,) = launches_of(run)
    return compile_launch(launch, target)


def failure(run, target="sm_90"):
    with pytest.raises(CompileFailure) as caught:
        compiled(run, target)
    message = str(caught.value)
    assert len(message.splitlines()) <= 12
    assert len(message) <= 1500
    return message


def fault_line(tag):
    lines = Path(kernels.__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if f"# FAULT {tag}" in line)


def test_vector_add():
    resources = compiled(lambda: kernels.add(torch.empty(4096), torch.empty(4096)))
    assert resources.kernel == "add_kernel"
    assert resources.target == "sm_90"
    assert 8 <= resources.registers <= 64
    assert (resources.spills, resources.shared_bytes, resources.tensor_core) == (0, 0, False)
    assert (resources.num_warps, resources.num_stages) == (4, 3)


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "gfx942"])
def test_dot_uses_tensor_cores_and_shared_memory(target):
    resources = compiled(lambda: kernels.matmul(num_warps=8), target)
    assert resources.tensor_core is True
    assert resources.shared_bytes > 0
    assert resources.registers > 16
    assert resources.num_warps == 8


def test_spills_are_counted_in_bytes():
    x = torch.empty(64, 64)
    run = lambda: kernels.spilling_kernel[(1,)](x, x, SIZE=64, num_warps=1, maxnreg=32)  # noqa: E731
    assert compiled(run).spills > 100


def test_shared_memory_beyond_the_card_is_a_failure_there_only():
    run = lambda: kernels.matmul(block=128, block_k=64, num_stages=5, num_warps=8)  # noqa: E731
    message = failure(run, "sm_86")
    assert "out of resource: shared memory, Required: " in message
    assert "Hardware limit: 101376" in message
    assert compiled(run, "sm_80").shared_bytes > 101376


def test_tuples_scalars_and_descriptors():
    x = torch.empty(64, 64)
    pair = lambda: kernels.scale_pair_kernel[(1,)]((x, x), 0.5, True, 16, ONE=1)  # noqa: E731
    assert compiled(pair).spills == 0
    descriptor = TensorDescriptor.from_tensor(x, [32, 32])
    run = lambda: kernels.descriptor_kernel[(1,)](descriptor, x, BLOCK=32)  # noqa: E731
    assert compiled(run, "sm_90").shared_bytes > 0
    assert compiled(run, "sm_80").registers > 0


def test_closure_kernels_and_all_configs_compile():
    kernel = kernels.closure_kernel(1.5)
    assert compiled(lambda: kernel[(1,)](torch.empty(64), BLOCK=64)).registers > 0
    both = launches_of(lambda: kernels.tuned(512), all_configs=True)
    assert [compile_launch(launch).num_warps for launch in both] == [2, 4]


def test_tensor_indexing_is_explained_with_its_line():
    x = torch.empty(32)
    message = failure(lambda: kernels.indexing_kernel[(1,)](x, x, BLOCK=32))
    assert message.startswith(f"line {fault_line('indexing')}, in indexing_kernel:")
    assert "h_prev[offs]" in message
    assert "unsupported tensor index" in message
    source, caret = message.splitlines()[1:3]
    assert source[caret.index("^") :].startswith("h_prev[offs]")


def test_run_time_arange_is_explained_with_its_line():
    message = failure(lambda: kernels.runtime_arange_kernel[(1,)](torch.empty(32), 64))
    assert f"line {fault_line('arange')}, in runtime_arange_kernel" in message
    assert "arange's arguments must be of type tl.constexpr" in message


def test_a_fault_in_a_callee_shows_the_callee_then_the_call():
    message = failure(lambda: kernels.calling_kernel[(1,)](torch.empty(32)))
    first, *_, last = message.splitlines()
    assert first == f"line {fault_line('callee')}, in undefined_name_in_callee:"
    assert "NameError: not_defined_anywhere is not defined" in message
    assert last == f"called from line {fault_line('caller')}, in calling_kernel"


def test_a_fault_inside_tritons_library_points_at_the_authors_line():
    message = failure(lambda: kernels.wrong_axis_kernel[(1,)](torch.empty(256), BLOCK=16))
    assert f"line {fault_line('library')}, in wrong_axis_kernel" in message
    assert "axis 5" in message


def test_assembler_errors_give_their_reason_and_no_listing(capfd):
    message = failure(lambda: kernels.bad_assembly_kernel[(1,)](torch.empty(1, dtype=torch.int32)))
    assert message.startswith("bad_assembly_kernel (line ")
    assert ".such" in message
    assert capfd.readouterr().out == ""


def test_a_python_function_is_refused_every_time():
    run = lambda: kernels.calls_python_kernel[(1,)](torch.empty(1))  # noqa: E731
    assert failure(run) == failure(run)
    assert "python_function (not a @triton.jit function)" in failure(run)


def test_a_failed_pass_gives_the_first_error_of_its_log():
    (launch,) = launches_of(lambda: kernels.add(torch.empty(64), None))
    log = 'remark: x\nloc("/tmp/kernel.py":17:4): error: operation too wide\n' + "module {\n" * 500
    message = explain(RuntimeError("PassManager::run failed"), launch, log)
    assert message == f"add_kernel (line {launch.line}): line 17: operation too wide"


def test_the_fake_driver_alone_serves_the_interpreter():
    code = (
        "from tilesmith.worker.compile import install_fake_driver; install_fake_driver('sm_80');"
        "import triton;"
        "print(triton.knobs.runtime.interpret,"
        "triton.runtime.driver.active.utils.get_device_properties(0)['multiprocessor_count'])"
    )
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    reply = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert reply.stdout.split() == ["True", "108"], reply.stderr
