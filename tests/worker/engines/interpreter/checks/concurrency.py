"""Programs that wait for, race with or order one another."""

import time

import torch
import triton
import triton.language as tl


@triton.jit
def two_layers(x_ptr, hidden_ptr, out_ptr, counter_ptr, programs, BLOCK: tl.constexpr):
    """A persistent kernel: each layer needs all of the one before, so programs meet at a barrier."""
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(hidden_ptr + offs, x * 2)
    tl.debug_barrier()
    tl.atomic_add(counter_ptr, 1, sem="release")
    while tl.atomic_add(counter_ptr, 0, sem="acquire") < programs:
        pass
    mirrored = programs * BLOCK - 1 - offs
    tl.store(out_ptr + offs, tl.load(hidden_ptr + mirrored) + 1)


def run_two_layers(programs, expected_programs):
    x = torch.randn(programs * 8)
    hidden, out = torch.zeros_like(x), torch.zeros_like(x)
    two_layers[(programs,)](x, hidden, out, torch.zeros(1, dtype=torch.int32), expected_programs, BLOCK=8)
    return bool(torch.equal(out, (x * 2).flip(0) + 1))


def check_grid_barrier(interpreter):
    results = []
    for seed in (0, 1, 2):
        interpreter.reschedule(seed)
        results.append(run_two_layers(6, 6))
    return results


def check_deadlock(_):
    run_two_layers(4, 5)


@triton.jit
def locked_sum(lock_ptr, total_ptr, value_ptr):
    value = tl.load(value_ptr + tl.program_id(0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr, tl.load(total_ptr) + value)
    tl.atomic_xchg(lock_ptr, 0)


def check_lock(interpreter):
    totals = []
    for seed in (0, 3):
        interpreter.reschedule(seed)
        total, values = torch.zeros(1), torch.arange(16, dtype=torch.float32)
        locked_sum[(16,)](torch.zeros(1, dtype=torch.int32), total, values)
        totals.append(total.item())
    return totals


def check_lock_never_released(_):
    locked_sum[(2,)](torch.ones(1, dtype=torch.int32), torch.zeros(1), torch.zeros(2))


@triton.jit
def volatile_flag(flag_ptr, out_ptr):
    if tl.program_id(0) == 0:
        while tl.load(flag_ptr, volatile=True) == 0:
            pass
        tl.store(out_ptr, 7.0)
    else:
        tl.store(flag_ptr, 1)


def check_volatile_spin(_):
    out = torch.zeros(1)
    volatile_flag[(2,)](torch.zeros(1, dtype=torch.int32), out)
    return out.item()


@triton.jit
def plain_spin(flag_ptr):
    while tl.load(flag_ptr) == 0:
        pass


def check_deadline(interpreter):
    interpreter.deadline = time.monotonic() + 0.3
    try:
        plain_spin[(1,)](torch.zeros(1, dtype=torch.int32))
    finally:
        interpreter.deadline = None


@triton.jit
def nested_loops(out_ptr, n):
    total = 0.0
    for _ in range(n):
        for _ in range(n):
            for _ in range(n):
                total += 1.0
    tl.store(out_ptr, total)


def check_deadline_in_nested_loops(interpreter):
    interpreter.deadline = time.monotonic() + 0.3
    try:
        nested_loops[(1,)](torch.zeros(1), 100)
    finally:
        interpreter.deadline = None


@triton.jit
def slow_producer(flag_ptr, out_ptr, steps):
    if tl.program_id(0) == 0:
        while tl.atomic_add(flag_ptr, 0) == 0:
            pass
        tl.store(out_ptr, 1.0)
    else:
        count = 0
        while count < steps:
            count += 1
        tl.atomic_xchg(flag_ptr, 1)


def check_waiting_for_a_long_computation_is_no_deadlock(_):
    out = torch.zeros(1)
    slow_producer[(2,)](torch.zeros(1, dtype=torch.int32), out, 20000)
    return out.item()


@triton.jit
def order_of_arrival(counter_ptr, out_ptr):
    tl.store(out_ptr + tl.atomic_add(counter_ptr, 1), tl.program_id(0))


def arrivals(interpreter, seed):
    interpreter.reschedule(seed)
    out = torch.zeros(16, dtype=torch.int32)
    order_of_arrival[(16,)](torch.zeros(1, dtype=torch.int32), out)
    return out.tolist()


def check_orders(interpreter):
    return [arrivals(interpreter, seed) for seed in (0, 1, 1, 2)]


@triton.jit
def histogram(x_ptr, bins_ptr, N: tl.constexpr):
    offs = tl.program_id(0) * N + tl.arange(0, N)
    tl.atomic_add(bins_ptr + tl.load(x_ptr + offs), 1)


def check_atomics_with_shared_addresses(_):
    x, bins = torch.randint(0, 4, (64,)), torch.zeros(4, dtype=torch.int32)
    histogram[(4,)](x, bins, N=16)
    return bool(torch.equal(bins.long(), torch.bincount(x, minlength=4)))


@triton.jit
def narrow_atomics(x_ptr, sum_ptr, max_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_add(sum_ptr, tl.sum(x, axis=0))
    tl.atomic_max(max_ptr, tl.max(x, axis=0).to(tl.float32))


def check_float_atomics(_):
    results = []
    for dtype in (torch.float32, torch.float16):
        x, total, largest = torch.randn(64).to(dtype), torch.zeros(1, dtype=dtype), torch.full((1,), -9.0)
        narrow_atomics[(4,)](x, total, largest, N=16)
        near = abs(total.item() - x.double().sum().item()) < 0.02
        results.append([near, largest.item() == x.max().item()])
    return results


@triton.jit
def lost_update(total_ptr, x_ptr):
    tl.store(total_ptr, tl.load(total_ptr) + tl.load(x_ptr + tl.program_id(0)))


def check_race_lost_update(_):
    lost_update[(4,)](torch.zeros(1), torch.ones(4))


@triton.jit
def stencil(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + offs - 1, mask=offs > 0, other=0.0)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + left)


def check_race_in_place_stencil(_):
    x = torch.randn(64)
    stencil[(4,)](x, x, 64, BLOCK=16)


def check_no_race_stencil_to_another_tensor(_):
    stencil[(4,)](torch.randn(64), torch.zeros(64), 64, BLOCK=16)
    return True


@triton.jit
def own_elements(x_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, x * 2)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs) + 1)


def check_no_race_own_elements(_):
    own_elements[(4,)](torch.randn(64), BLOCK=16)
    return True


@triton.jit
def same_value(out_ptr, value):
    tl.store(out_ptr, value)


def check_no_race_same_value(_):
    same_value[(4,)](torch.zeros(1), 3.0)
    return True


@triton.jit
def own_number(out_ptr):
    tl.store(out_ptr, tl.program_id(0))


def check_race_different_values(_):
    own_number[(4,)](torch.zeros(1, dtype=torch.int32))


@triton.jit
def lanes_disagree(out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    tl.store(out_ptr + offs // 2, offs)


def check_race_within_a_store(_):
    lanes_disagree[(1,)](torch.zeros(8, dtype=torch.int32), N=16)


@triton.jit
def last_one_sums(partial_ptr, counter_ptr, out_ptr, PROGRAMS: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(partial_ptr + pid, pid.to(tl.float32))
    if tl.atomic_add(counter_ptr, 1) == PROGRAMS - 1:
        tl.store(out_ptr, tl.sum(tl.load(partial_ptr + tl.arange(0, PROGRAMS)), axis=0))


def check_no_race_under_atomics(_):
    out = torch.zeros(1)
    last_one_sums[(8,)](torch.zeros(8), torch.zeros(1, dtype=torch.int32), out, PROGRAMS=8)
    return out.item() == 28.0


def check_races_can_be_switched_off(interpreter):
    interpreter.find_races = False
    try:
        own_number[(4,)](torch.zeros(1, dtype=torch.int32))
    finally:
        interpreter.find_races = True
    return True
