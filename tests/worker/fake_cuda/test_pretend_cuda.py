"""Code written for CUDA runs on the CPU and cannot tell; ordinary torch is unharmed."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

from tilesmith.tasks.gpus import ARCHITECTURES, GPUS, REPRESENTATIVES, Gpu, find_gpu
from tilesmith.worker.fake_cuda.pretend_cuda import NotOnThisMachine, pretend_cuda
from tilesmith.worker.fake_cuda.torch_cuda import cuda_api

CUDA = torch.device("cuda", 0)


@pytest.fixture
def cuda():
    with pretend_cuda():
        yield


def _reports_cuda(x):
    return x.is_cuda and not x.is_cpu and x.device == CUDA and x.get_device() == 0


FACTORIES = {
    "empty": lambda d: torch.empty(3, device=d),
    "zeros": lambda d: torch.zeros((2, 3), device=d),
    "ones": lambda d: torch.ones(3, device=d),
    "full": lambda d: torch.full((3,), 2.0, device=d),
    "arange": lambda d: torch.arange(3, device=d),
    "rand": lambda d: torch.rand(3, device=d),
    "randn": lambda d: torch.randn(3, device=d),
    "randint": lambda d: torch.randint(0, 5, (3,), device=d),
    "randperm": lambda d: torch.randperm(3, device=d),
    "tensor": lambda d: torch.tensor([1.0], device=d),
    "as_tensor": lambda d: torch.as_tensor([1.0], device=d),
    "asarray": lambda d: torch.asarray([1.0], device=d),
    "eye": lambda d: torch.eye(3, device=d),
    "linspace": lambda d: torch.linspace(0, 1, 3, device=d),
    "empty_strided": lambda d: torch.empty_strided((2, 2), (2, 1), device=d),
    "zeros_like": lambda d: torch.zeros_like(torch.zeros(3), device=d),
    "new_empty": lambda d: torch.zeros(3).new_empty(2, device=d),
    "new_tensor": lambda d: torch.zeros(3).new_tensor([1.0], device=d),
    "to": lambda d: torch.zeros(3).to(d),
    "to_keyword": lambda d: torch.zeros(3).to(device=d, dtype=torch.float16, non_blocking=True),
    "pinned": lambda d: torch.zeros(3, pin_memory=True).pin_memory().to(d),
    "cuda_method": lambda d: torch.zeros(3).cuda(d),
    "linear": lambda d: nn.Linear(2, 3, device=d).weight,
}


@pytest.mark.parametrize("device", ["cuda", "cuda:0", CUDA, 0], ids=str)
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES.keys())
def test_every_way_to_a_device_gives_a_cpu_tensor_that_says_cuda(factory, device):
    with pretend_cuda():
        made = factory(device)
        assert _reports_cuda(made)
    assert made.device.type == "cpu"


def test_devices_compare_and_pass_on(cuda):
    x, y = torch.randn(4, device="cuda"), torch.ones(4).cuda()
    assert isinstance(x.device, torch.device)
    assert x.device == torch.device("cuda", 0) == torch.device("cuda:0") == torch.device(0)
    assert torch.device("cpu").type == "cpu"
    assert x.device == y.device
    assert x.device.type == "cuda"
    assert _reports_cuda(torch.empty(4, device=x.device))
    assert torch.equal((x + y).cpu(), x.cpu() + 1)
    assert x.cuda() is x
    assert x.numpy().shape == (4,)


def test_sizes_are_not_mistaken_for_device_numbers(cuda):
    assert torch.zeros(0, 3).shape == (0, 3)
    assert torch.zeros(2, 3).view(3, 2).sum(0).shape == (2,)
    assert torch.ones(3).to(torch.float64).dtype == torch.float64


@pytest.mark.parametrize("move", [lambda m: m.cuda(), lambda m: m.to("cuda"), lambda m: m.to(0)])
def test_modules_move(cuda, move):
    model = move(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    model.to(next(model.parameters()).device)
    assert all(_reports_cuda(t) for t in (*model.parameters(), *model.buffers()))
    assert model(torch.randn(5, 4, device="cuda")).shape == (5, 4)


def test_default_device_and_device_blocks_stay_on_the_cpu_and_end_with_the_context():
    with pretend_cuda():
        torch.set_default_device("cuda")
        assert _reports_cuda(torch.zeros(2))
        with torch.device("cuda"):
            assert _reports_cuda(nn.Linear(2, 2).weight)
    assert torch.get_default_device().type == "cpu"
    assert torch.zeros(2).device.type == "cpu"


def test_generators_seed_the_draws(cuda):
    generator = torch.Generator(device="cuda").manual_seed(3)
    assert generator.device == CUDA
    assert isinstance(torch.default_generator, torch.Generator)
    first = torch.randn(4, device="cuda", generator=generator)
    again = torch.randn(4, device="cuda", generator=torch.Generator("cuda").manual_seed(3))
    assert torch.equal(first, again)
    torch.cuda.manual_seed_all(5)
    a = torch.rand(3, device="cuda")
    torch.manual_seed(5)
    assert torch.equal(a, torch.rand(3, device="cuda"))


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
def test_facts_come_from_the_table(gpu: Gpu) -> None:
    architecture = ARCHITECTURES[gpu.target]
    with pretend_cuda(gpu):
        assert torch.cuda.get_device_name() == gpu.driver_name
        assert torch.cuda.get_device_capability() == architecture.capability
        assert torch.cuda.mem_get_info() == (gpu.memory_bytes, gpu.memory_bytes)
        properties = torch.cuda.get_device_properties(CUDA)
    assert properties.multi_processor_count == gpu.multiprocessors
    assert properties.L2_cache_size == gpu.l2_bytes
    assert properties.shared_memory_per_block_optin == gpu.shared_bytes_per_block
    assert properties.warp_size == architecture.warp_size


def test_torch_cuda_describes_the_card():
    with pretend_cuda(find_gpu("NVIDIA L40S")):
        assert torch.cuda.is_available()
        assert (torch.cuda.device_count(), torch.cuda.current_device()) == (1, 0)
        assert torch.cuda.get_device_name() == "NVIDIA L40S"
        assert torch.cuda.get_device_capability() == (8, 9)
        properties = torch.cuda.get_device_properties(CUDA)
        assert properties.multi_processor_count == 142
        assert properties.shared_memory_per_block_optin == 99 * 1024
        assert (properties.major, properties.minor, properties.warp_size) == (8, 9, 32)
        assert properties.total_memory > 0
        assert properties.L2_cache_size > 0
        assert properties.regs_per_multiprocessor == 65536
        assert properties.max_threads_per_multi_processor == 1536


def test_streams_events_and_housekeeping_do_nothing(cuda):
    x = torch.ones(2, device="cuda")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.set_device(x.device)
    assert torch.cuda.memory_allocated() == 0
    assert torch.cuda.current_stream().cuda_stream == 0
    with torch.cuda.device(x.device), torch.cuda.stream(torch.cuda.Stream()):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        end.record()
        end.synchronize()
    assert start.elapsed_time(end) == 0.0
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark
    with torch.random.fork_rng():
        torch.rand(1)


def test_no_two_names_share_a_stand_in():
    """torch._dynamo, imported by torch itself on first use, would refuse to load."""
    api = cuda_api(REPRESENTATIVES["sm_90"])
    assert len({id(stand_in) for stand_in in api.values()}) == len(api)


@pytest.mark.parametrize("autocast", [lambda: torch.autocast("cuda"), lambda: torch.cuda.amp.autocast()])
def test_autocast_casts_to_half_as_on_cuda(cuda, autocast):
    a = torch.randn(4, 4, device="cuda")
    with autocast():
        assert torch.is_autocast_enabled()
        assert (a @ a).dtype == torch.float16
    assert (a @ a).dtype == torch.float32


def test_the_handles_of_a_graph_are_refused_clearly(cuda):
    with pytest.raises(NotOnThisMachine, match="needs a GPU"):
        torch.cuda.CUDAGraph(keep_graph=True).raw_cuda_graph()


def test_compile_returns_the_function_itself(cuda):
    def double(x):
        return 2 * x

    assert torch.compile(double, mode="max-autotune") is double
    assert torch.compile(mode="reduce-overhead")(double) is double


class _Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        assert x.is_cuda
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        assert grad.is_cuda, "backward must see the pretence too"
        return 2 * grad


def test_autograd_functions_see_cuda_in_both_directions(cuda):
    x = torch.ones(3, device="cuda", requires_grad=True)
    _Doubling.apply(x).sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 2.0))


MODELS = {
    "gru": lambda: (nn.GRU(4, 5, batch_first=True), torch.randn(2, 3, 4, dtype=torch.float64)),
    "lstm": lambda: (nn.LSTM(4, 5), torch.randn(2, 3, 4, dtype=torch.float64)),
    "conv": lambda: (nn.Conv2d(3, 4, 3, padding=1), torch.randn(1, 3, 8, 8, dtype=torch.float64)),
    "transformer": lambda: (
        nn.TransformerEncoderLayer(8, 2, batch_first=True).eval(),
        torch.randn(2, 3, 8, dtype=torch.float64),
    ),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_ordinary_modules_give_the_same_values(make):
    torch.manual_seed(0)
    model, x = make()
    model = model.double()
    expected = model(x)
    with pretend_cuda():
        got = copy.deepcopy(model).cuda()(x.cuda())
    first = lambda value: value[0] if isinstance(value, tuple) else value  # noqa: E731
    torch.testing.assert_close(first(got), first(expected), rtol=0, atol=0)


def test_tensors_survive_pickle_and_save():
    with pretend_cuda():
        x = torch.arange(4.0, device="cuda")
        model = nn.Linear(2, 2).cuda()
        buffer = io.BytesIO()
        torch.save({"x": x, "model": model.state_dict()}, buffer)
        pickled = pickle.dumps((x, x.device, nn.Parameter(x)))
        buffer.seek(0)
        assert _reports_cuda(torch.load(buffer, map_location="cuda")["x"])
    buffer.seek(0)
    loaded = torch.load(buffer)
    assert loaded["x"].device.type == "cpu"
    assert torch.equal(loaded["x"], x)
    assert torch.equal(pickle.loads(pickled)[0], x)


def _change_settings_and_fail(x):
    torch.set_float32_matmul_precision("medium")
    assert x.is_cuda
    raise ZeroDivisionError


def test_everything_is_off_again_after_the_block_even_after_an_error():
    names = ("is_available", "device_count", "Stream", "Event", "synchronize", "CUDAGraph", "device")
    before = [getattr(torch.cuda, name) for name in names]
    others = (torch.Generator, torch.compile, torch.autocast, torch.version.cuda)
    precision = torch.get_float32_matmul_precision()
    x = torch.ones(1)
    with pytest.raises(ZeroDivisionError), pretend_cuda():
        _change_settings_and_fail(x)
    assert [getattr(torch.cuda, name) for name in names] == before
    assert (torch.Generator, torch.compile, torch.autocast, torch.version.cuda) == others
    assert torch.get_float32_matmul_precision() == precision
    assert not hasattr(torch._C, "_cuda_getCurrentRawStream") or torch.version.cuda
    assert x.device.type == "cpu"
    assert not x.is_cuda
