"""Text for images of several kernels that stand side by side in one buffer."""

SIDE_BY_SIDE = '''class SideBySide:
    """Images of several kernels in one buffer, side by side along the channels: nothing is copied to join them.

    Each has scales and largest numbers of its own.
    """

    def __init__(self, largest: LargestNumbers, *channels: int) -> None:
        self.zeros, self.ends = largest, [sum(channels[:i]) for i in range(len(channels) + 1)]
        self.shared = math.gcd(*channels)  # so many channels in a row have the same scale at least
        self.images, self.entered = None, set()

    def part(self, number: int, batch: int, places: tuple[int, ...], like: torch.Tensor) -> tuple:
        """Where the images of this number go."""
        if self.images is None:
            self.images = room_for_images(batch, self.ends[-1], places, like)[:2]
            self.largest = self.zeros.take(len(self.ends) - 1, batch, like.device)
        y, unscale, largest, _ = self.take(number, number + 1)
        return y, unscale, largest[0]

    def take(self, first: int, last: int) -> tuple:
        (y, unscale), channels = self.images, slice(self.ends[first], self.ends[last])
        return y[:, channels], unscale[channels], self.largest[first:last], self.shared'''

JOIN_IMAGES = '''def join_images(*parts: tuple, into: tuple) -> tuple:
    """What kernels have written side by side. `into`: the buffer, the number of each part, and where they end."""
    return into[0].take(into[1], into[-1])'''

ENTER_AND_JOIN = '''def enter_and_join(*parts: torch.Tensor | tuple, into: tuple) -> tuple:
    """The same where some parts are float32 tensors, which whoever joins them first makes a part of the buffer."""
    side_by_side, *numbers, last = into
    for part, number in zip(parts, numbers):
        if isinstance(part, torch.Tensor) and number not in side_by_side.entered:
            enter_images(part, (side_by_side, number))
            side_by_side.entered.add(number)
    return side_by_side.take(numbers[0], last)'''

JOIN_AND_LEAVE = '''def join_and_leave(*parts: torch.Tensor | tuple, into: tuple) -> torch.Tensor:
    """The same as a float32 tensor; parts that are such tensors stay exactly what they are."""
    side_by_side, *numbers, last = into
    halves, unscale, *_ = side_by_side.take(numbers[0], last)
    y = leave_images(halves, unscale)
    for part, number in zip(parts, numbers):
        if isinstance(part, torch.Tensor):
            first = side_by_side.ends[number] - side_by_side.ends[numbers[0]]
            y[:, first : first + part.shape[1]] = part
    return y'''

ENTER_IMAGES = '''@triton.jit
def enter_images_kernel(
    # pointers
    x_ptr,
    measured_ptr,
    y_ptr,
    unscale_ptr,
    largest_ptr,
    # sizes
    C,
    PLACES,
    PITCH,
    BATCH,
    PARTS,
    # meta-parameters
    BLOCK_PARTS: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """float32 images as halves, channels-last, each scaled by a power of two."""
    blocks, blocks_c = tl.cdiv(PLACES, BLOCK), tl.cdiv(C, BLOCK_C)
    number = tl.program_id(0) % (blocks * blocks_c)
    image = (tl.program_id(0) // (blocks * blocks_c)).to(tl.int64)
    channels = (number % blocks_c * BLOCK_C + tl.arange(0, BLOCK_C)).to(tl.int64)[:, None]
    places = (number // blocks_c * BLOCK + tl.arange(0, BLOCK))[None, :]
    mask = (channels < C) & (places < PLACES)
    x = tl.load(x_ptr + (image * C + channels) * PLACES + places, mask=mask, other=0.0)
    parts = tl.arange(0, BLOCK_PARTS)
    largest = tl.max(tl.load(measured_ptr + image * PARTS + parts, mask=parts < PARTS, other=0.0), axis=0)
    scale, undone = choose_scales(largest)
    tl.store(y_ptr + (image * PLACES + places) * PITCH + channels, (x * scale).to(tl.float16), mask=mask)
    tl.store(unscale_ptr + channels * BATCH + image, undone, mask=channels < C)
    tl.store(largest_ptr + image, largest, mask=number == 0)


def enter_images(x: torch.Tensor, into=None) -> tuple[torch.Tensor, ...]:
    """(B, C, *sizes) in float32 as what convolutions give one another."""
    x = x.contiguous()
    B, C, *places = x.shape
    SIZE, PLACES = x[0].numel(), x[0, 0].numel()
    y, unscale, largest = room_for_images(B, C, places, x, into)
    PARTS = min(triton.cdiv(SIZE, 16384), 512)
    measured = torch.empty((B, PARTS), dtype=torch.float32, device=x.device)
    measure_images_kernel[(B * PARTS,)](
        x, measured, SIZE, triton.cdiv(SIZE, PARTS), PARTS, BLOCK=4096, num_warps=8
    )
    BLOCK_C = min(64, triton.next_power_of_2(C))
    BLOCK = 4096 // BLOCK_C
    enter_images_kernel[(B * triton.cdiv(PLACES, BLOCK) * triton.cdiv(C, BLOCK_C),)](
        # inputs
        x, measured,
        # outputs
        y, unscale, largest,
        # sizes
        C, PLACES, y.stride(-1), B, PARTS,
        # constants
        BLOCK_PARTS=triton.next_power_of_2(PARTS), BLOCK_C=BLOCK_C, BLOCK=BLOCK, num_warps=8,
    )
    return y, unscale, largest'''

LEAVE_IMAGES = '''@triton.jit
def leave_images_kernel(
    # pointers
    x_ptr,
    unscale_ptr,
    y_ptr,
    # sizes
    C,
    PLACES,
    PITCH,
    BATCH,
    # meta-parameters
    BLOCK_C: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """What convolutions give one another as float32 images."""
    blocks, blocks_c = tl.cdiv(PLACES, BLOCK), tl.cdiv(C, BLOCK_C)
    number = tl.program_id(0) % (blocks * blocks_c)
    image = (tl.program_id(0) // (blocks * blocks_c)).to(tl.int64)
    channels = (number % blocks_c * BLOCK_C + tl.arange(0, BLOCK_C)).to(tl.int64)[:, None]
    places = (number // blocks_c * BLOCK + tl.arange(0, BLOCK))[None, :]
    mask = (channels < C) & (places < PLACES)
    x = tl.load(x_ptr + (image * PLACES + places) * PITCH + channels, mask=mask, other=0.0).to(tl.float32)
    x *= tl.load(unscale_ptr + channels * BATCH + image, mask=channels < C, other=0.0)
    tl.store(y_ptr + (image * C + channels) * PLACES + places, x, mask=mask)


def leave_images(x: torch.Tensor, unscale: torch.Tensor) -> torch.Tensor:
    """(B, C, *sizes) in float32, of what convolutions give one another."""
    y = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    C, PLACES = x.shape[1], x[0, 0].numel()
    BLOCK_C = min(64, triton.next_power_of_2(C))
    BLOCK = 4096 // BLOCK_C
    leave_images_kernel[(len(x) * triton.cdiv(PLACES, BLOCK) * triton.cdiv(C, BLOCK_C),)](
        x, unscale, y, C, PLACES, x.stride(-1), len(x), BLOCK_C=BLOCK_C, BLOCK=BLOCK, num_warps=8
    )
    return y'''
