"""Text for images: how they become halves, and how halves pass from one convolution to the next."""

MEASURE_IMAGES = '''@triton.jit
def measure_images_kernel(x_ptr, largest_ptr, SIZE, SPAN, PARTS, BLOCK: tl.constexpr):
    """The largest finite number in every part of an image, without its sign."""
    image, part = (tl.program_id(0) // PARTS).to(tl.int64), (tl.program_id(0) % PARTS).to(tl.int64)
    last = tl.minimum((part + 1) * SPAN, SIZE)
    largest = tl.zeros((BLOCK,), tl.float32)
    for start in range(part * SPAN, last, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.abs(tl.load(x_ptr + image * SIZE + offs, mask=offs < last, other=0.0))
        largest = tl.maximum(largest, tl.where(x < float("inf"), x, 0.0))
    tl.store(largest_ptr + tl.program_id(0), tl.max(largest, axis=0))'''

PAD_IMAGES = '''@triton.jit
def pad_images_kernel(
    # pointers
    x_ptr,
    largest_ptr,
    padded_ptr,
    low_ptr,
    scale_ptr,
    # sizes
    C,
    D,
    H,
    W,
    IN_D,
    IN_H,
    IN_W,
    BEFORE_D,
    BEFORE_H,
    BEFORE_W,
    stride_b,
    stride_c,
    stride_d,
    stride_h,
    stride_w,
    PARTS,
    # meta-parameters
    CHANNELS: tl.constexpr,
    HALVES: tl.constexpr,
    BLOCK_PARTS: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Images channels-last, with zeros around them.

    HALVES: into how many a float32 number goes; 0 where numbers stay what they are. A float32 image is scaled by a
    power of two, its largest number to about 2**12.
    """
    places = IN_D * IN_H * IN_W
    blocks, blocks_c = tl.cdiv(places, BLOCK), tl.cdiv(CHANNELS, BLOCK_C)
    number = tl.program_id(0) % (blocks * blocks_c)
    image = (tl.program_id(0) // (blocks * blocks_c)).to(tl.int64)
    channels = (number % blocks_c * BLOCK_C + tl.arange(0, BLOCK_C)).to(tl.int64)[:, None]
    place = (number // blocks_c * BLOCK + tl.arange(0, BLOCK))[None, :]
    d, h = place // (IN_H * IN_W) - BEFORE_D, place // IN_W % IN_H - BEFORE_H
    w = place % IN_W - BEFORE_W
    inside = (d >= 0) & (d < D) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
    x_ptrs = x_ptr + image * stride_b + channels * stride_c
    x_ptrs += d.to(tl.int64) * stride_d + h.to(tl.int64) * stride_h + w.to(tl.int64) * stride_w
    x = tl.load(x_ptrs, mask=inside & (channels < C), other=0.0)
    kept = (place < places) & (channels < CHANNELS)
    target = (image * places + place) * CHANNELS + channels
    if HALVES == 0:
        tl.store(padded_ptr + target, x, mask=kept)
    else:
        parts = tl.arange(0, BLOCK_PARTS)
        measured = tl.load(largest_ptr + image * PARTS + parts, mask=parts < PARTS, other=-float("inf"))
        exponent = (tl.max(measured, axis=0).to(tl.int32, bitcast=True) >> 23) - 127
        shift = tl.minimum(12 - exponent, 110)  # an image of zeros has no exponent
        scaled = x * ((shift + 127) << 23).to(tl.float32, bitcast=True)
        high = scaled.to(tl.float16)
        tl.store(padded_ptr + target, high, mask=kept)
        if HALVES == 2:  # an inf stays one in `high` and leaves nothing for `low`
            low = tl.where(tl.abs(scaled) < float("inf"), scaled - high.to(tl.float32), 0.0)
            tl.store(low_ptr + target, low.to(tl.float16), mask=kept)
        tl.store(scale_ptr + image, ((127 - shift) << 23).to(tl.float32, bitcast=True), mask=number == 0)


def pad_images(
    x: torch.Tensor, before: tuple[int, ...], after: tuple[int, ...], CHANNELS: int, HALVES: int
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(B, C, *sizes) as (B, *sizes, CHANNELS) with zeros around each image; x may have any strides.

    Of float32 numbers: one half, or two, and what undoes each image's scale.
    """
    x = x[(slice(None), slice(None), *(None,) * (5 - x.dim()))]
    B, C, D, H, W = x.shape
    IN_D, IN_H, IN_W = (size + a + b for size, a, b in zip((D, H, W), before, after))
    shape, dtype = (B, IN_D, IN_H, IN_W, CHANNELS), torch.float16 if HALVES else x.dtype
    padded = torch.empty(shape, dtype=dtype, device=x.device)
    low = torch.empty_like(padded) if HALVES == 2 else None
    SIZE = C * D * H * W
    PARTS = min(triton.cdiv(SIZE, 16384), 512)
    largest = scale = None
    if HALVES:
        largest = torch.empty((B, PARTS), dtype=torch.float32, device=x.device)
        scale = torch.empty((B,), dtype=torch.float32, device=x.device)
        flat = (x.movedim(1, -1) if x.stride(1) == 1 else x).reshape(B, SIZE)  # in any order
        measure_images_kernel[(B * PARTS,)](
            flat, largest, SIZE, triton.cdiv(SIZE, PARTS), PARTS, BLOCK=4096, num_warps=8
        )
    BLOCK_C = min(64, triton.next_power_of_2(CHANNELS))
    BLOCK = 4096 // BLOCK_C
    blocks = triton.cdiv(IN_D * IN_H * IN_W, BLOCK) * triton.cdiv(CHANNELS, BLOCK_C)
    pad_images_kernel[(B * blocks,)](
        # inputs
        x, largest,
        # outputs
        padded, low, scale,
        # sizes
        C, D, H, W, IN_D, IN_H, IN_W, *before, *x.stride(), PARTS,
        # constants
        CHANNELS=CHANNELS, HALVES=HALVES, BLOCK_PARTS=triton.next_power_of_2(PARTS), BLOCK_C=BLOCK_C, BLOCK=BLOCK,
        num_warps=8,
    )
    return padded, low, scale'''

UNDO_SCALES = """@triton.jit
def undo_scales(total, pixels_scale, filters_scale):
    small, large = tl.minimum(pixels_scale, filters_scale), tl.maximum(pixels_scale, filters_scale)
    return total * small * large  # in this order nothing overflows on the way"""

CHOOSE_SCALES = '''@triton.jit
def choose_scales(reach):
    """Powers of two that bring numbers of up to `reach` below 2**15, and those that undo it."""
    exponent = (reach.to(tl.int32, bitcast=True) >> 23) - 127
    shift = tl.minimum(14 - exponent, 110)  # nothing reaches beyond zero in an image of zeros
    return ((127 + shift) << 23).to(tl.float32, bitcast=True), ((127 - shift) << 23).to(tl.float32, bitcast=True)'''

KEEP_LARGEST = '''@triton.jit
def find_largest_numbers(y, mask):
    """The largest finite number in each row of a tile, without its sign."""
    size = tl.abs(y)
    return tl.max(tl.where(mask & (size < float("inf")), size, 0.0), axis=1)


@triton.jit
def keep_largest(
    # pointers
    unscale_ptr,
    largest_ptr,
    # the largest numbers of a tile, and which image each of them is of
    largest,
    number,
    # one of the images, what undoes its scale, and whether its first place is in the tile
    image,
    undone,
    is_first,
    # channels
    rows,
    M,
    BATCH,
):
    """What the next convolution needs of an image: what undoes the scale of each of its channels, and its largest
    finite number without its sign."""
    tl.atomic_max(largest_ptr + image, tl.max(tl.where(number == image, largest, 0.0), axis=0))
    tl.store(unscale_ptr + rows * BATCH + image, undone, mask=(rows < M) & is_first)'''

LOAD_LARGEST = '''@triton.jit
def load_largest(largest_ptr, number, BATCH, PARTS):
    """The largest number of an image that several kernels have made parts of."""
    largest = tl.load(largest_ptr + number)
    for part in range(1, PARTS):
        largest = tl.maximum(largest, tl.load(largest_ptr + part * BATCH + number))
    return largest'''

ROOM_FOR_IMAGES = '''class LargestNumbers:
    """Zeros for the largest numbers of images: a row for every kernel of a pass, all of them filled at once."""

    def __init__(self, count: int) -> None:
        self.count, self.rows, self.taken = count, {}, 0

    def take(self, count: int, batch: int, device: torch.device) -> torch.Tensor:
        if batch not in self.rows:
            self.rows[batch] = torch.zeros((self.count, batch), dtype=torch.float32, device=device)
        self.taken += count
        return self.rows[batch][self.taken - count : self.taken]


def room_for_images(
    batch: int, channels: int, places: tuple[int, ...], like: torch.Tensor, into=None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What a kernel writes: halves, channels-last; what undoes the scale of each channel of each image; the
    largest number of each image.

    `into`: where the largest numbers are zeros; or images that stand side by side, and which of them it writes.
    """
    if isinstance(into, tuple):
        return into[0].part(into[1], batch, places, like)
    y = torch.empty((batch, *places, channels), dtype=torch.float16, device=like.device).movedim(-1, 1)
    unscale = torch.empty((channels, batch), dtype=torch.float32, device=like.device)
    largest = torch.empty((1, batch), dtype=torch.float32, device=like.device)
    return y, unscale, (largest if into is None else into.take(1, batch, like.device))[0]'''
