"""Models that use CUDA graphs, with kernels for the interpreter. Run in a process of their own."""

import torch
import triton
import triton.language as tl
from torch import nn

from tilesmith.worker.candidate.guarded_memory import GuardedMemory
from tilesmith.worker.engines.engine import CallSettings
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
from tilesmith.worker.fake_cuda.streams import begin_call, unjoined


@triton.jit
def scale(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    w = tl.load(w_ptr)
    tl.store(out_ptr + offs, x * w, mask=offs < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def tuned_scale(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, x * tl.load(w_ptr), mask=offs < n)


def scaled(x, w):
    out = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 64),)](x, w, out, x.numel(), BLOCK=64)
    return out


class Graphed(nn.Module):
    """Torch, Triton and in-place work in one graph, captured at the first call of each shape."""

    def __init__(self, copies_inputs=True, warm_up=True):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([3.0]))
        self.copies_inputs, self.warm_up = copies_inputs, warm_up
        self.graphs = {}

    def compute(self, x):
        y = scaled(torch.relu(x) + 1, self.weight)
        y[0] = 7.0
        return y.sum(-1, keepdim=True).mul_(2) - x.mean()

    def expected(self, x):
        y = (torch.relu(x) + 1) * self.weight
        y[0] = 7.0
        return y.sum(-1, keepdim=True) * 2 - x.mean()

    def capture(self, x):
        static = x.clone() if self.copies_inputs else x
        if self.warm_up:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.compute(static)
            torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self.compute(static)
        return graph, static, out

    def forward(self, x):
        if x.shape not in self.graphs:
            self.graphs[x.shape] = self.capture(x)
        graph, static, out = self.graphs[x.shape]
        if self.copies_inputs:
            static.copy_(x)
        graph.replay()
        return out.clone()


def right(got, expected):
    return bool(torch.allclose(got, expected, rtol=1e-5, atol=1e-5))


def check_inputs_copied_into_static_memory(interpreter):
    with pretend_cuda(), torch.no_grad():
        model = Graphed().cuda()
        runs = []
        for shape in ((4, 50), (4, 50), (3, 20), (4, 50), (3, 20)):
            x = torch.randn(shape, device="cuda")
            begin_call()
            interpreter.begin_call(CallSettings())
            with GuardedMemory(None):
                y = model(x)
            runs.append([right(y, model.expected(x)), len(interpreter.launches), unjoined()])
        return runs


def check_old_pointers_give_the_old_answer(_):
    with pretend_cuda(), torch.no_grad():
        model = Graphed(copies_inputs=False).cuda()
        first, second = torch.randn(4, 50, device="cuda"), torch.randn(4, 50, device="cuda")
        once, again = model(first), model(second)
        return [right(once, model.expected(first)), right(again, model.expected(second)), torch.equal(once, again)]


def check_a_weight_changed_in_place_is_seen_and_a_new_one_is_not(_):
    with pretend_cuda(), torch.no_grad():
        model = Graphed().cuda()
        x = torch.randn(4, 50, device="cuda")
        model(x)
        model.weight.fill_(-2.0)
        changed = right(model(x), model.expected(x))
        model.weight.data = torch.tensor([5.0], device="cuda")
        return [changed, right(model(x), model.expected(x))]


def check_a_capture_computes_nothing(interpreter):
    with pretend_cuda(), torch.no_grad():
        x, w = torch.ones(8, device="cuda"), torch.ones(1, device="cuda")
        count, graph = torch.zeros(1, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle(), capture_error_mode="relaxed"):
            capturing = torch.cuda.is_current_stream_capturing()
            count.add_(1)
            sums = torch.stack([x + 1, scaled(x, w)])
        captured = [capturing, torch.cuda.is_current_stream_capturing(), len(interpreter.launches)]
        before = [bool(sums.isnan().all()), count.item()]
        graph.replay()
        graph.replay()
        return [captured, before, sums.sum().item(), count.item(), len(interpreter.launches)]


class GraphedInConstructor(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6).cuda()
        self.scale = nn.Parameter(torch.tensor([2.0], device="cuda"))
        self.x = torch.zeros(4, 6, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            self.graph.capture_begin()
            self.out = scaled(self.linear(self.x), self.scale)
            self.graph.capture_end()

    def forward(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.out


def check_captured_in_the_constructor(_):
    with pretend_cuda():
        model = GraphedInConstructor()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    results = []
    for _ in range(2):
        x = torch.randn(4, 6)
        with pretend_cuda(), torch.no_grad():
            begin_call()
            y = model(x)
            results.append([right(y, model.linear(x) * model.scale), unjoined()])
    return results


def check_modules_as_people_write_them(_):
    models = {
        "conv": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.MaxPool2d(2)), (2, 3, 8, 8)),
        "attention": (nn.TransformerEncoderLayer(8, 2, batch_first=True, dropout=0.0), (2, 5, 8)),
        "lstm": (nn.LSTM(4, 5, batch_first=True), (2, 3, 4)),
        "softmax": (nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Softmax(-1)), (2, 8)),
    }
    results = {}
    with pretend_cuda():
        for name, (model, shape) in models.items():
            for context in (torch.no_grad, torch.inference_mode):
                model = model.cuda().eval()
                with context():
                    static, graph = torch.zeros(shape, device="cuda"), torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        out = model(static)
                    static.copy_(torch.randn(shape, device="cuda"))
                    graph.replay()
                    expected = model(static)
                first = lambda value: value[0] if isinstance(value, tuple) else value  # noqa: E731
                results[f"{name} {context.__name__}"] = right(first(out), first(expected))
    return results


def check_indices_made_in_the_graph(_):
    with pretend_cuda(), torch.no_grad():
        static, table = torch.zeros(3, 5, device="cuda"), torch.randn(5, 4, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            best = static.argmax(-1)
            rows = table[best]
            values, places = static.topk(2)
        static.copy_(torch.randn(3, 5))
        graph.replay()
        return [torch.equal(rows, table[static.argmax(-1)]), torch.equal(values, static.gather(1, places))]


def check_a_graph_within_a_graph_and_forked_streams(_):
    with pretend_cuda(), torch.no_grad():
        x, inner, outer = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(inner):
            x.add_(1)
        side = torch.cuda.Stream()
        with torch.cuda.graph(outer):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                inner.replay()
            torch.cuda.current_stream().wait_stream(side)
            x.mul_(3)
        captured = x.tolist()
        outer.replay()
        return [captured, x.tolist(), unjoined()]


def check_make_graphed_callables(interpreter):
    with pretend_cuda():
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).cuda()
        expected = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).cuda()
        expected.load_state_dict(model.state_dict())
        graphed = torch.cuda.make_graphed_callables(model, (torch.zeros(2, 4, device="cuda"),))
        x = torch.randn(2, 4, device="cuda")
        begin_call()
        with torch.no_grad():
            no_grad = right(graphed(x), expected(x))
        graphed(x).sum().backward()
        expected(x).sum().backward()
        return [no_grad, right(model[0].weight.grad, expected[0].weight.grad), unjoined()]


def _error(body):
    with pretend_cuda(), torch.no_grad():
        x = torch.ones(4, device="cuda")
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                body(x)
        except RuntimeError as error:
            capturing = torch.cuda.is_current_stream_capturing()
            return [str(error), capturing, torch.cuda.current_stream().cuda_stream, (x + 1).sum().item()]
    return None


def _leave_work_behind(x):
    with torch.cuda.stream(torch.cuda.Stream()):
        x.add_(1)


def check_what_a_capture_refuses(_):
    tuned = lambda x: tuned_scale[lambda meta: (1,)](x, x, torch.empty_like(x), 4)  # noqa: E731
    return {
        "synchronize": _error(lambda x: torch.cuda.synchronize()),
        "stream": _error(lambda x: torch.cuda.current_stream().synchronize()),
        "event": _error(lambda x: torch.cuda.current_stream().record_event().synchronize()),
        "item": _error(lambda x: x.sum().item()),
        "if": _error(lambda x: 1 if x[0] > 0 else 2),
        "cpu": _error(lambda x: x.cpu()),
        "to cpu": _error(lambda x: x.to("cpu")),
        "tolist": _error(lambda x: x.tolist()),
        "numpy": _error(lambda x: x.numpy()),
        "nonzero": _error(lambda x: x.nonzero()),
        "mask": _error(lambda x: x[x > 0]),
        "autotune": _error(tuned),
        "capture": _error(lambda x: torch.cuda.graph(torch.cuda.CUDAGraph()).__enter__()),
        "unjoined": _error(_leave_work_behind),
    }


def check_autotuned_after_warming_up(interpreter):
    with pretend_cuda(), torch.no_grad():
        x, w = torch.ones(40, device="cuda"), torch.full((1,), 2.0, device="cuda")
        out, graph = torch.empty_like(x), torch.cuda.CUDAGraph()
        grid = lambda meta: (triton.cdiv(40, meta["BLOCK"]),)  # noqa: E731
        tuned_scale[grid](x, w, out, 40)
        with torch.cuda.graph(graph):
            tuned_scale[grid](x, w, out, 40)
        x.fill_(5.0)
        graph.replay()
        return out.unique().tolist()


def check_an_abandoned_capture_ends_with_the_block(_):
    with pretend_cuda(), torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.CUDAGraph().capture_begin()
    return (torch.ones(3) + 1).sum().item()


def check_replay_without_capture(_):
    with pretend_cuda():
        torch.cuda.CUDAGraph().replay()


def check_capture_on_the_default_stream(_):
    with pretend_cuda():
        begin_call()
        torch.cuda.CUDAGraph().capture_begin()


def check_a_launch_on_a_side_stream_is_work(_):
    with pretend_cuda():
        x = torch.ones(8, device="cuda")
        out, side = torch.empty_like(x), torch.cuda.Stream()
        begin_call()
        with torch.cuda.stream(side):
            scale[(1,)](x, x, out, 8, BLOCK=8)
        left = unjoined()
        begin_call()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scale[(1,)](x, x, out, 8, BLOCK=8)
        captured = unjoined()
        with torch.cuda.stream(side):
            graph.replay()
        return [left, captured, unjoined()]
