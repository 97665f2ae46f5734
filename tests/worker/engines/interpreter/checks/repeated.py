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


def check_programs_are_repeated(_):
    """Or nothing above would have been."""
    from tilesmith.worker.engines.interpreter import program_tape

    repeated, original = [], program_tape._repeated
    program_tape._repeated = lambda tape: repeated.append(original(tape)) or repeated[-1]
    try:
        for check in (check_every_program_goes_its_own_way, check_operations_with_several_results):
            check(None)
        return [repeated.count(True), repeated.count(False)]
    finally:
        program_tape._repeated = original
