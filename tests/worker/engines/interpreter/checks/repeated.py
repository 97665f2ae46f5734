"""Launches of which the first program is recorded, and what the others do."""

import torch
import triton
import triton.language as tl


@triton.jit
def ways(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Stores before it looks at a number, which is another one for every third program."""
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, tl.load(y_ptr + offs, mask=offs < n) + x, mask=offs < n)
    for _ in range(tl.load(x_ptr).to(tl.int32) + pid % 3):
        tl.store(y_ptr + offs, tl.load(y_ptr + offs, mask=offs < n) * 2, mask=offs < n)
    if pid % 3 == 1:
        tl.store(y_ptr + offs, tl.load(y_ptr + offs, mask=offs < n) + tl.sum(x, 0), mask=offs < n)


def check_every_program_goes_its_own_way(_):
    x, y = torch.randn(1000), torch.ones(1000)
    x[0] = 1.5
    ways[(16,)](x, y, 1000, BLOCK=64)
    parts = [
        (1 + part) * 2 ** (1 + i % 3) + (part.sum() if i % 3 == 1 else 0) for i, part in enumerate(x.split(64))
    ]
    return bool(torch.allclose(y, torch.cat(parts), atol=1e-5))


@triton.jit
def sums(x_ptr, total_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.atomic_add(total_ptr, tl.sum(x, 0))
    tl.store(y_ptr + offs, x.to(tl.float16).to(tl.float32))


def check_atomics(interpreter):
    x, y, total = torch.randn(1024), torch.zeros(1024), torch.zeros(1)
    for seed in (0, 1):
        interpreter.reschedule(seed)
        sums[(16,)](x, total, y, BLOCK=64)
    interpreter.reschedule(0)
    return bool(torch.allclose(total, 2 * x.sum(), atol=1e-4)) and bool(torch.equal(y, x.half().float()))


@triton.jit
def entangled(x_ptr, total_ptr, y_ptr, BLOCK: tl.constexpr):
    """What it loads first, others change; its loop begins elsewhere in every program and goes round once, twice."""
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(y_ptr + offs, x + tl.load(total_ptr))
    for turn in range(pid // 4, pid // 4 + 1 + pid % 2):
        tl.atomic_add(total_ptr, tl.sum(x, 0) * turn)
    largest = tl.atomic_max(total_ptr + 1, tl.max(x, 0))
    tl.store(y_ptr + offs, tl.load(y_ptr + offs) * largest)


@triton.jit
def looks_back(x_ptr, total_ptr, y_ptr, BLOCK: tl.constexpr):
    """It goes where an atomic sends it."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))
    if tl.atomic_add(total_ptr, 1.0) > 7.0:
        tl.store(y_ptr + offs, tl.load(y_ptr + offs) + tl.load(total_ptr))


@triton.jit
def turns_back(x_ptr, total_ptr, y_ptr, BLOCK: tl.constexpr):
    """It looks at a number that it has stored, and goes another way for some."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(y_ptr + offs) + tl.load(x_ptr + offs))
    if tl.load(y_ptr + tl.program_id(0) * BLOCK) > 1:
        tl.atomic_add(total_ptr, tl.sum(tl.load(y_ptr + offs), 0))


def check_orders_as_written(interpreter):
    """Kernels that leave other bits in memory where programs repeat, in any of several orders."""
    return [
        f"{kernel.fn.__name__} in order {order}"
        for kernel in (entangled, looks_back, turns_back)
        for order in range(5)
        if left_by(kernel, order, True, interpreter) != left_by(kernel, order, False, interpreter)
    ]


def left_by(kernel, order, repeats, interpreter):
    torch.manual_seed(0)
    x, total, y = torch.randn(24 * 8), torch.zeros(2), torch.ones(24 * 8)
    interpreter.repeats_programs = repeats
    interpreter.reschedule(order)
    kernel[(24,)](x, total, y, BLOCK=8)
    interpreter.reschedule(0)
    interpreter.repeats_programs = True
    return total.tolist(), y.tolist()


@triton.jit
def shift(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(y_ptr + offs, x + 1)


def check_a_late_program_beyond_the_end(_):
    shift[(9,)](torch.randn(1024), torch.zeros(2048), BLOCK=128)


def check_a_race_of_late_programs(_):
    x = torch.randn(1025)
    shift[(8,)](x[:1024], x[1:], BLOCK=128)


@triton.jit
def turned(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    first = tl.program_id(0) * BLOCK * BLOCK
    x = tl.load(x_ptr + first + i * BLOCK + j)
    high, low = tl.split(tl.join(x.T, tl.dot(x, x)))
    tl.store(y_ptr + first + i * BLOCK + j, high + tl.cumsum(low, 1))


def check_operations_with_several_results(_):
    x, y = torch.randn(7, 16, 16), torch.zeros(7, 16, 16)
    turned[(7,)](x, y, BLOCK=16)
    return bool(torch.allclose(y, x.mT + (x @ x).cumsum(-1), atol=0.1))


def check_programs_are_repeated(interpreter):
    """Or nothing above would have been."""
    from tilesmith.worker.engines.interpreter import program_tape

    repeated, original = [], program_tape._repeated
    program_tape._repeated = lambda tape: repeated.append(original(tape)) or repeated[-1]
    try:
        for check in (check_every_program_goes_its_own_way, check_operations_with_several_results):
            check(None)
        counts = [repeated.count(True), repeated.count(False)]
        left_by(entangled, 1, True, interpreter)
        return [*counts, repeated.count(True) - counts[0]]
    finally:
        program_tape._repeated = original


def taking(longest_s, interpreter):
    """Sixty-four programs while a clock goes on by a tenth of a second at every look, with a patience of one."""
    import types

    from tilesmith.worker.engines.engine import CallSettings
    from tilesmith.worker.engines.interpreter import launch

    clock, now = launch.time, [0.0]

    def look():
        now[0] += 0.1
        return now[0]

    launch.time = types.SimpleNamespace(monotonic=look)
    try:
        interpreter.begin_call(CallSettings(limit_s=1.0, longest_s=longest_s))
        interpreter.deadline, interpreter.last_moment = 1.0, longest_s
        shift[(64,)](torch.randn(64 * 8), torch.zeros(64 * 8), BLOCK=8)
        return True
    finally:
        launch.time = clock
        interpreter.begin_call(CallSettings())


def check_slow_programs_that_end(interpreter):
    return taking(60.0, interpreter)


def check_too_many_slow_programs(interpreter):
    return taking(3.0, interpreter)
