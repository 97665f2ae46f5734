"""Launches are noted with what triton would specialize on, whatever kind of tensor comes in."""

import compile_kernels as kernels
import pytest
import torch
import triton
from torch._subclasses.fake_tensor import FakeTensorMode
from triton.runtime.jit import JITFunction

from tilesmith.worker.compile import distinct, install_fake_driver
from tilesmith.worker.engines.recorder import recording
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda


def record(run, **options):
    with recording(**options) as launches:
        run()
    return launches


def test_a_launch_says_grid_types_constants_and_alignment():
    (launch,) = record(lambda: kernels.add(torch.empty(4096), torch.empty(4096), num_warps=8))
    assert (launch.kernel, launch.grid) == ("add_kernel", (4, 1, 1))
    assert launch.signature == {
        "x_ptr": "*fp32",
        "y_ptr": "*fp32",
        "out_ptr": "*fp32",
        "n": "i32",
        "BLOCK": "constexpr",
    }
    assert launch.constexprs == {(4,): 1024}
    assert launch.attrs[(0,)] == launch.attrs[(3,)] == [["tt.divisibility", 16]]
    assert launch.options == {"num_warps": 8}
    with open(kernels.__file__) as source:
        assert "def add_kernel" in source.readlines()[launch.line - 1]


def test_none_and_one_become_constants_and_odd_offsets_lose_alignment():
    x = torch.empty(65)
    (none,) = record(lambda: kernels.add(x, None))
    assert none.constexprs[(1,)] is None
    (one,) = record(lambda: kernels.add(x[:1], x[:1]))
    assert one.constexprs[(3,)] == 1
    (odd,) = record(lambda: kernels.add(x[1:], x[1:]))
    assert odd.attrs[(0,)] == []
    assert odd.attrs[(2,)] == [["tt.divisibility", 16]]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.bfloat16, "*bf16"),
        (torch.float8_e4m3fn, "*fp8e4nv"),
        (torch.float8_e5m2, "*fp8e5"),
        (torch.int64, "*i64"),
        (torch.bool, "*u1"),
    ],
)
def test_dtypes(dtype, expected):
    (launch,) = record(lambda: kernels.add(torch.empty(32, dtype=dtype), None))
    assert launch.signature["x_ptr"] == expected


def test_fake_and_meta_tensors_record_like_real_ones_at_sizes_no_memory_holds():
    with FakeTensorMode():
        huge = torch.empty(2**40, device="cuda", dtype=torch.bfloat16)
        (fake,) = record(lambda: kernels.add(huge, huge, block=2**20))
    assert fake.grid == (2**20, 1, 1)
    assert fake.signature["x_ptr"] == "*bf16"
    assert fake.signature["n"] == "i64"
    assert fake.attrs[(0,)] == [["tt.divisibility", 16]]
    small = record(lambda: kernels.add(torch.empty(64), torch.empty(64)))
    meta = torch.empty(64, device="meta")
    assert distinct(small + record(lambda: kernels.add(meta, meta))) == small


def test_works_inside_pretend_cuda():
    with pretend_cuda():
        x = torch.empty(64, device="cuda")
        (launch,) = record(lambda: kernels.add(x, x))
    assert launch.signature["x_ptr"] == "*fp32"


def test_distinct_ignores_the_grid_but_not_options():
    def run():
        for n in (1024, 2048, 2048):
            kernels.add(torch.empty(n), torch.empty(n))
        kernels.add(torch.empty(1024), torch.empty(1024), num_warps=1)

    launches = record(run)
    assert len(launches) == 4
    assert [launch.options for launch in distinct(launches)] == [{}, {"num_warps": 1}]


def test_closure_kernels_count_once_per_meaning():
    def run():
        for bias in (1.0, 2.0, 1.0):
            kernels.closure_kernel(bias)[(1,)](torch.empty(64), BLOCK=64)

    assert len(distinct(record(run))) == 2


def test_autotune_takes_the_first_survivor_or_all_and_heuristics_see_it():
    (first,) = record(lambda: kernels.tuned(512))
    assert (first.grid, first.constexprs) == ((2, 1, 1), {(2,): 256, (3,): True})
    both = record(lambda: kernels.tuned(512), all_configs=True)
    assert [launch.constexprs for launch in both] == [{(2,): 256, (3,): True}, {(2,): 1024, (3,): False}]
    assert [launch.options["num_warps"] for launch in both] == [2, 4]
    assert both[0].autotuned_call == both[1].autotuned_call is not None


@pytest.mark.parametrize("grid", [(2,), [2, 1], (2, 1, 1), lambda meta: (meta["BLOCK"] // 16,)])
def test_grids_in_every_spelling(grid):
    x = torch.empty(32)
    (launch,) = record(lambda: kernels.add_kernel[grid](x, x, x, 32, BLOCK=32))
    assert launch.grid == (2, 1, 1)


@pytest.mark.parametrize(
    ("grid", "options", "error"),
    [
        ((1, 70000), {}, RuntimeError),
        ((1.5,), {}, TypeError),
        ((1,), {"num_warp": 4}, KeyError),
        ((1,), {"num_warps": 3}, AssertionError),
    ],
)
def test_what_a_real_launch_refuses_is_refused(grid, options, error):
    x = torch.empty(32)
    with recording(), pytest.raises(error):
        kernels.add_kernel[grid](x, x, x, 32, BLOCK=32, **options)


def test_occupancy_arithmetic_of_the_tutorials_runs():
    def run():
        x = torch.empty(32)
        properties = triton.runtime.driver.active.utils.get_device_properties(0)
        kernel = kernels.add_kernel.warmup(x, x, x, 32, BLOCK=32, num_warps=8, grid=(1,))
        kernel._init_handles()
        occupancy = properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * 8)
        occupancy = min(occupancy, properties["max_shared_mem"] // kernel.metadata.shared)
        kernel[(properties["multiprocessor_count"] * occupancy, 1, 1)](x, x, x, 32)

    (launch,) = record(run)
    assert launch.grid == (132 * 8, 1, 1)
    assert launch.options == {"num_warps": 8}


def test_the_driver_answers_as_the_target_and_everything_is_put_back():
    state, run = dict(vars(triton.runtime.driver)), JITFunction.run
    with recording(target="sm_89"):
        active = triton.runtime.driver.active
        assert (active.get_current_target().arch, active.get_device_capability(0)) == (89, (8, 9))
        assert active.utils.get_device_properties(0)["max_shared_mem"] == 99 * 1024
        assert str(active.get_active_torch_device()) == "cuda:0"
        assert active.get_current_stream(active.get_current_device()) == 0
        assert triton.testing.do_bench(lambda: None) > 0
        assert len(active.get_benchmarker()(lambda: None, quantiles=(0.5, 0.2, 0.8))) == 3
    assert dict(vars(triton.runtime.driver)) == state
    assert JITFunction.run is run


def test_unknown_targets_are_listed():
    with pytest.raises(ValueError, match=r"unknown target 'sm_42'.*sm_90.*gfx942"):
        install_fake_driver("sm_42")


def test_a_kernels_parameters_may_have_any_name():
    x = torch.empty(32)
    (launch,) = record(lambda: kernels.parameters_named_like_ours[(1,)](kernel=x, fn=2, tuner=3, self_=32))
    assert launch.kernel == "parameters_named_like_ours"
