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
def undo_scales(total, pixels_scale_ptr, filters_scale_ptr, number, row):
    pixels_scale = tl.load(pixels_scale_ptr + number)[None, :]
    filters_scale = tl.load(filters_scale_ptr + row)[:, None]
    small, large = tl.minimum(pixels_scale, filters_scale), tl.maximum(pixels_scale, filters_scale)
    return total * small * large  # in this order nothing overflows on the way"""

UNDO_CHOSEN_SCALES = """@triton.jit
def undo_chosen_scales(total, pixels_scale, filters_scale_ptr, row):
    filters_scale = tl.load(filters_scale_ptr + row)[:, None]
    pixels_scale = pixels_scale[None, :]
    small, large = tl.minimum(pixels_scale, filters_scale), tl.maximum(pixels_scale, filters_scale)
    return total * small * large  # in this order nothing overflows on the way"""

CHOOSE_SCALES = '''@triton.jit
def choose_scales(reach):
    """Powers of two that bring numbers of up to `reach` below 2**15, and those that undo it."""
    exponent = (reach.to(tl.int32, bitcast=True) >> 23) - 127
    shift = tl.minimum(14 - exponent, 110)  # nothing reaches beyond zero in an image of zeros
    return ((127 + shift) << 23).to(tl.float32, bitcast=True), ((127 - shift) << 23).to(tl.float32, bitcast=True)'''

KEEP_IMAGES = '''@triton.jit
def keep_images(
    # pointers
    y_ptr,
    unscale_ptr,
    largest_ptr,
    # a tile, and how far its numbers may be from zero in the image of each column
    y,
    reach,
    # where it is
    rows,
    cols,
    number,
    # sizes
    M,
    N,
    PLACES,
    PITCH,
    BATCH,
):
    """Stores a tile as halves, channels-last, each image scaled for numbers of up to `reach` of it.

    The next convolution needs what undoes the scale, for every channel of an image, and the largest finite number
    of each image without its sign.
    """
    scale, undone = choose_scales(reach)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(y_ptr + cols[None, :] * PITCH + rows[:, None], (y * scale[None, :]).to(tl.float16), mask=mask)
    size = tl.abs(y)
    largest = tl.max(tl.where(mask & (size < float("inf")), size, 0.0), axis=0)
    for image in range(tl.min(number, axis=0), tl.max(number, axis=0) + 1):
        tl.atomic_max(largest_ptr + image, tl.max(tl.where(number == image, largest, 0.0), axis=0))
        is_first = (number == image) & (cols < N) & (cols % PLACES == 0)
        once = (rows < M) & (tl.max(is_first.to(tl.int32), axis=0) > 0)
        tl.store(unscale_ptr + rows * BATCH + image, tl.max(tl.where(is_first, undone, 0.0), axis=0), mask=once)'''

ROOM_FOR_IMAGES = '''def room_for_images(
    batch: int, channels: int, places: tuple[int, ...], like: torch.Tensor, into=None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What a kernel writes: halves, channels-last; what undoes the scale of each channel of each image; the
    largest number of each image.

    `into`: images that stand side by side, and which of them it writes.
    """
    if into is not None:
        return into[0].part(into[1], batch, places, like)
    y = torch.empty((batch, *places, channels), dtype=torch.float16, device=like.device).movedim(-1, 1)
    unscale = torch.empty((channels, batch), dtype=torch.float32, device=like.device)
    return y, unscale, torch.zeros((batch,), dtype=torch.float32, device=like.device)'''
