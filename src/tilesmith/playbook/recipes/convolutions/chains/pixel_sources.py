"""Text for kernels that read images as halves, channels-last, with nothing around them."""

FIND_IMAGE_TILE = '''@triton.jit
def find_image_tile(M: tl.constexpr, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """Which tile a program has, of channels and places; neighbors in time share places in L2, then channels."""
    number = tl.program_id(0)
    TILES_M: tl.constexpr = (M + BLOCK_M - 1) // BLOCK_M
    if TILES_M <= GROUP:
        return number % TILES_M, number // TILES_M
    else:
        in_group = GROUP * tl.cdiv(N, BLOCK_N)
        group, number = number // in_group, number % in_group
        height = tl.minimum(TILES_M - group * GROUP, GROUP)
        return group * GROUP + number % height, number // height'''

FIND_BORDERS = '''@triton.jit
def find_borders(
    # where the window of every column begins in its image
    first_d,
    first_h,
    first_w,
    # sizes
    IN_D: tl.constexpr,
    IN_H: tl.constexpr,
    IN_W: tl.constexpr,
    # windows
    SIZE_D: tl.constexpr,
    SIZE_H: tl.constexpr,
    SIZE_W: tl.constexpr,
    DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr,
    DILATION_W: tl.constexpr,
):
    """For every column, a bit for each number of its window that is inside of the image: at most 63."""
    inside = tl.zeros_like(first_w).to(tl.int64 if SIZE_D * SIZE_H * SIZE_W > 31 else tl.int32)
    row = inside
    for tap in tl.static_range(SIZE_W):
        w = first_w + tap * DILATION_W
        row |= ((w >= 0) & (w < IN_W)).to(row.dtype) << tap
    for tap in tl.static_range(SIZE_D * SIZE_H):
        d, h = first_d + tap // SIZE_H * DILATION_D, first_h + tap % SIZE_H * DILATION_H
        is_there = (d >= 0) & (d < IN_D) & (h >= 0) & (h < IN_H)
        inside |= tl.where(is_there, row, 0) << (tap * SIZE_W)
    return inside'''

FIND_PIXELS = '''@triton.jit
def find_pixels(
    # where the window of every column begins among all numbers, and what of it is inside of the image
    begin,
    borders,
    start,
    # sizes
    IN_H: tl.constexpr,
    IN_W: tl.constexpr,
    PITCH: tl.constexpr,
    IN_C: tl.constexpr,
    CHANNELS: tl.constexpr,
    # windows
    SIZE_D: tl.constexpr,
    SIZE_H: tl.constexpr,
    SIZE_W: tl.constexpr,
    DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr,
    DILATION_W: tl.constexpr,
    # meta-parameters
    BLOCK_K: tl.constexpr,
):
    """BLOCK_K numbers of the window of every column, from `start` on, in the order in which a filter has them:
    where they lie, whether they are there at all, and their channels.

    Images are channels-last, with nothing around them: zeros are beyond borders, and beyond all channels.
    """
    depth = tl.arange(0, BLOCK_K)
    if CHANNELS % BLOCK_K == 0:  # they are channels of one place
        tap = start // CHANNELS
        channel = (start - tap * CHANNELS + depth)[:, None]  # of a remainder Triton does not know the divisors
    else:
        tap, channel = ((start + depth) // CHANNELS)[:, None], ((start + depth) % CHANNELS)[:, None]
    d, h = tap // (SIZE_H * SIZE_W) * DILATION_D, tap // SIZE_W % SIZE_H * DILATION_H
    w = tap % SIZE_W * DILATION_W
    offs = begin[None, :] + (((d * IN_H + h) * IN_W + w) * PITCH + channel)
    inside = tl.full((1, 1), 1, tl.int1)
    if borders is not None:
        inside = (borders[None, :] >> tl.minimum(tap, SIZE_D * SIZE_H * SIZE_W - 1)) & 1 != 0
    if IN_C != CHANNELS:
        inside = inside & (channel < IN_C)
    if CHANNELS % BLOCK_K != 0:
        inside = inside & (tap < SIZE_D * SIZE_H * SIZE_W)
    return offs, inside, channel'''

LOAD_UNSCALE = '''@triton.jit
def load_unscale(
    unscale_ptr,
    # a block of channels of the image of every column
    start,
    channel,
    number,
    # sizes
    BATCH,
    IN_C: tl.constexpr,
    CHANNELS: tl.constexpr,
    SHARED: tl.constexpr,
    # meta-parameters
    BLOCK_K: tl.constexpr,
):
    """What undoes the scales of images side by side. At least SHARED channels have the same scale."""
    if CHANNELS % BLOCK_K == 0 and SHARED % BLOCK_K == 0:
        first = start % CHANNELS
        return tl.load(unscale_ptr + first * BATCH + number, mask=first < IN_C, other=0.0)[None, :]
    else:
        return tl.load(unscale_ptr + channel * BATCH + number[None, :], mask=channel < IN_C, other=0.0)'''

SUM_PIXELS = '''@triton.jit
def sum_pixels(
    # pointers
    pixels_ptr,
    filters_ptr,
    # where the window of every column begins: among all numbers, and in its image
    begin,
    first_d,
    first_h,
    first_w,
    # channels, and what undoes their scales
    rows,
    unscale,
    # sizes
    M: tl.constexpr,
    IN_D: tl.constexpr,
    IN_H: tl.constexpr,
    IN_W: tl.constexpr,
    PITCH: tl.constexpr,
    # windows
    SIZE_D: tl.constexpr,
    SIZE_H: tl.constexpr,
    SIZE_W: tl.constexpr,
    DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr,
    DILATION_W: tl.constexpr,
    # meta-parameters
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """What the filter of each channel makes of the windows of every column, summed in float32: images are halves,
    channels-last, filters float32, of which neighbors are those of neighboring channels."""
    total = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    for tap in tl.static_range(SIZE_D * SIZE_H * SIZE_W):
        d, h = tap // (SIZE_H * SIZE_W) * DILATION_D, tap // SIZE_W % SIZE_H * DILATION_H
        w = tap % SIZE_W * DILATION_W
        inside = (first_d + d >= 0) & (first_d + d < IN_D) & (first_h + h >= 0) & (first_h + h < IN_H)
        inside = inside & (first_w + w >= 0) & (first_w + w < IN_W)
        offs = begin + ((d * IN_H + h) * IN_W + w) * PITCH
        mask = inside[:, None] & (rows < M)[None, :]
        x = tl.load(pixels_ptr + offs[:, None] + rows[None, :], mask=mask, other=0.0)
        weight = tl.load(filters_ptr + tap * M + rows, mask=rows < M, other=0.0)
        total += x.to(tl.float32) * weight[None, :]
    return total * unscale'''
