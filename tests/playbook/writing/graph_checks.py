"""A written file whose pass comes from a CUDA graph, on the pretended GPU. Run in a process of its own."""

import copy
import os
import runpy
from pathlib import Path
from types import SimpleNamespace

import torch

from tilesmith.worker.engines.engine import CallSettings
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda

FOLDER = Path(os.environ["WRITTEN_FOLDER"])
Model = runpy.run_path(str(FOLDER / "task.py"))["Model"]
kernel = SimpleNamespace(**runpy.run_path(str(FOLDER / "kernel.py")))


def made():
    torch.manual_seed(1)
    model = kernel.ModelNew(24).cuda()
    return model, torch.randn(2, 5, 24, device="cuda")


def right(model, x, got=None):
    """Whether the answer is that of the task with the same weights."""
    expected = Model(24)
    expected.load_state_dict(model.state_dict())
    expected.scale = model.scale
    got, expected = model(x) if got is None else got, expected(x)
    pairs = [(got["sum"], expected["sum"]), *zip(got["both"], expected["both"], strict=True)]
    return type(got["both"]) is tuple and all(torch.allclose(one, other, atol=1e-4) for one, other in pairs)


def check_new_inputs_are_replayed(interpreter):
    with pretend_cuda(), torch.no_grad():
        model, x = made()
        answers, launches = [], []
        for _ in range(3):
            interpreter.begin_call(CallSettings())
            answers.append((torch.randn_like(x), None))
            answers[-1] = (answers[-1][0], model(answers[-1][0]))
            launches.append(len(interpreter.launches))
        (calls,) = kernel._graphs[model].values()
        shares = any(got["sum"].data_ptr() == calls.outputs["sum"].data_ptr() for _, got in answers)
        return [[right(model, x, got) for x, got in answers], launches, shares]


def check_each_shape_has_a_graph_and_the_oldest_goes(_):
    with pretend_cuda(), torch.no_grad():
        model, _ = made()
        seen = []
        for batch in (1, 2, 3, 4, 1, 5, 6, 2):
            seen.append(right(model, torch.randn(batch, 5, 24, device="cuda")))
            kept = [key[-1][0][0] for key in kernel._graphs[model]]
        turned = torch.randn(24, 5, 2, device="cuda").permute(2, 1, 0)
        return [all(seen), kept, right(model, turned), len(kernel._graphs[model])]


def check_changed_weights(_):
    with pretend_cuda(), torch.no_grad():
        model, x = made()
        seen = [right(model, x)]
        model.first.weight.mul_(-1.5)
        seen.append(right(model, x))
        model.second.weight = torch.nn.Parameter(torch.randn(24, 24, device="cuda"))
        seen.append(right(model, x))
        model.norm = torch.nn.LayerNorm(24).cuda()
        model.norm.weight.fill_(0.7)
        seen.append(right(model, x))
        model.scale = 2.5
        seen.append(right(model, x))
        model.load_state_dict(kernel.ModelNew(24).state_dict())
        seen.append(right(model, x))
        twin = copy.deepcopy(model)
        twin.first.bias.add_(1.0)
        seen.append(right(twin, x) and right(model, x))
        return seen


def check_where_there_is_no_graph(_):
    with pretend_cuda():
        model, x = made()
        with_gradients = right(model, x)
        before = len(kernel._graphs)
        with torch.no_grad():
            outer = torch.cuda.CUDAGraph()
            with torch.cuda.graph(outer):
                got = model(x)
            outer.replay()
            captured = right(model, x, got)
        return [with_gradients, before == len(kernel._graphs), captured]


def check_inference_mode_has_graphs_of_its_own(_):
    with pretend_cuda():
        model, x = made()
        with torch.inference_mode():
            seen = [right(model, x)]
        with torch.no_grad():
            seen.append(right(model, x))
        with torch.inference_mode():
            seen.append(right(model, torch.randn_like(x)))
        return [seen, len(kernel._graphs[model])]


def check_models_are_let_go(_):
    with pretend_cuda(), torch.no_grad():
        model, x = made()
        before = len(kernel._graphs)
        model(x)
        during = len(kernel._graphs)
        del model
        return [during - before, len(kernel._graphs) - before]
