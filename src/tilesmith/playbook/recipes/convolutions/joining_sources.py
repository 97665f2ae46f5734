"""Text for images of several kernels that stand side by side in one buffer."""

SIDE_BY_SIDE = '''class SideBySide:
    """Images of several kernels in one buffer, side by side along the channels: nothing is copied to join them.

    Each has scales of its own; the largest number of an image is that of all of them so far.
    """

    def __init__(self, *channels: int) -> None:
        self.ends = [sum(channels[:i]) for i in range(len(channels) + 1)]
        self.shared = math.gcd(*channels)  # so many channels in a row have the same scale at least
        self.images, self.entered = None, set()

    def part(self, number: int, batch: int, places: tuple[int, ...], like: torch.Tensor) -> tuple:
        """Where the images of this number go."""
        if self.images is None:
            self.images = room_for_images(batch, self.ends[-1], places, like)
        return self.take(number, number + 1)[:3]

    def take(self, first: int, last: int) -> tuple:
        (y, unscale, largest), channels = self.images, slice(self.ends[first], self.ends[last])
        return y[:, channels], unscale[channels], largest, self.shared'''

ENTER_ONCE = '''def enter_once(x: torch.Tensor, into: tuple[SideBySide, int]) -> None:
    """Whoever joins a float32 tensor first makes it a part of the buffer."""
    side_by_side, number = into
    if number not in side_by_side.entered:
        enter_images(x, into)
        side_by_side.entered.add(number)'''

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
    tl.atomic_max(largest_ptr + image, largest, mask=number == 0)


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
