"""Written kernels before the compiler, at the task's own shape, without a GPU."""

from __future__ import annotations

from tilesmith.records import KernelResources


def compile_exact(task: str, kernel: str, target: str, folder: str) -> list[KernelResources]:
    """What every kernel of a forward pass at the task's own shape needs on a GPU."""
    import torch

    from tilesmith.worker.candidate.loading import execute
    from tilesmith.worker.compile import compile_launch, distinct
    from tilesmith.worker.engines.recorder import recording
    from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
    from tilesmith.worker.task.fake_tensors import fake_tensors
    from tilesmith.worker.task.loading import load_task

    loaded = load_task(f"{folder}/task.py", task)
    with recording(target=target) as launches, pretend_cuda(), fake_tensors(), torch.no_grad():
        model = execute(f"{folder}/kernel.py", kernel)(*loaded.init_args, **loaded.init_kwargs)
        model(*loaded.make_inputs().args)
    return [compile_launch(launch, target) for launch in distinct(launches)]
