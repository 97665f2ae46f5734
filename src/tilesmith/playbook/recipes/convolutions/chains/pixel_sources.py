"""Text for kernels that read images as halves, channels-last, with nothing around them."""

FIND_PIXELS = '''@triton.jit
def find_pixels(
    # where the window of every column begins: among all numbers, and in its image
    begin,
    first_d,
    first_h,
    first_w,
    start,
    # sizes
    IN_D,
    IN_H,
    IN_W,
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
    d, h, w = first_d[None, :] + d, first_h[None, :] + h, first_w[None, :] + w
    inside = (d >= 0) & (d < IN_D) & (h >= 0) & (h < IN_H) & (w >= 0) & (w < IN_W)
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
    row,
    unscale,
    # sizes
    IN_D,
    IN_H,
    IN_W,
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
    channels-last, filters float32."""
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for tap in tl.static_range(SIZE_D * SIZE_H * SIZE_W):
        d, h = tap // (SIZE_H * SIZE_W) * DILATION_D, tap // SIZE_W % SIZE_H * DILATION_H
        w = tap % SIZE_W * DILATION_W
        inside = (first_d + d >= 0) & (first_d + d < IN_D) & (first_h + h >= 0) & (first_h + h < IN_H)
        inside = inside & (first_w + w >= 0) & (first_w + w < IN_W)
        offs = begin + ((d * IN_H + h) * IN_W + w) * PITCH
        x = tl.load(pixels_ptr + offs[None, :] + row[:, None], mask=inside[None, :], other=0.0)
        weight = tl.load(filters_ptr + row * (SIZE_D * SIZE_H * SIZE_W) + tap)
        total += x.to(tl.float32) * unscale * weight[:, None]
    return total'''
