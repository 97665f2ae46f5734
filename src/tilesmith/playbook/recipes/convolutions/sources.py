"""Triton text that every file with a convolution shares, and the names that it takes.

Images have three dimensions here; those that a task does not have are of size one.
"""

FIND_WINDOWS = '''@triton.jit
def find_windows(
    cols,
    # sizes
    N,
    IN_D,
    IN_H,
    IN_W,
    OUT_D: tl.constexpr,
    OUT_H: tl.constexpr,
    OUT_W: tl.constexpr,
    CHANNELS: tl.constexpr,
    # windows
    STRIDE_D: tl.constexpr,
    STRIDE_H: tl.constexpr,
    STRIDE_W: tl.constexpr,
    group=0,
    GROUPS: tl.constexpr = 1,
):
    """The image that each column of a tile belongs to, and where its window begins among all padded images.

    Each group of channels is an image by itself.
    """
    place = tl.minimum(cols, N - 1).to(tl.int32)  # beyond the last column, the last will do
    image = place // (OUT_D * OUT_H * OUT_W) * GROUPS + group
    d, h, w = place // (OUT_H * OUT_W) % OUT_D, place // OUT_W % OUT_H, place % OUT_W
    begin = ((image.to(tl.int64) * IN_D + d * STRIDE_D) * IN_H + h * STRIDE_H) * IN_W + w * STRIDE_W
    return image, begin * CHANNELS'''

FIND_PLACES = '''@triton.jit
def find_places(
    cols,
    # sizes
    WINDOWS,
    OUT_D: tl.constexpr,
    OUT_H: tl.constexpr,
    OUT_W: tl.constexpr,
    # windows of a pool, side by side
    POOL_D: tl.constexpr,
    POOL_H: tl.constexpr,
    POOL_W: tl.constexpr,
):
    """The window of each column of a tile, the image that it belongs to, and the place of the column there.

    Of 16 columns in a row each has its turn in the first half of the windows' places, then in the other: so columns
    of one window are numbers of one thread, or of two.
    """
    SIZE: tl.constexpr = POOL_D * POOL_H * POOL_W
    windows, inner = cols // 16 * (16 // SIZE) + cols % (16 // SIZE), cols % 16 // (16 // SIZE)
    window = tl.minimum(windows, WINDOWS - 1)  # beyond the last column, the last will do
    COUNT_D: tl.constexpr = OUT_D // POOL_D
    COUNT_H: tl.constexpr = OUT_H // POOL_H
    COUNT_W: tl.constexpr = OUT_W // POOL_W
    d = window // (COUNT_H * COUNT_W) % COUNT_D * POOL_D + inner // (POOL_H * POOL_W)
    h = window // COUNT_W % COUNT_H * POOL_H + inner // POOL_W % POOL_H
    w = window % COUNT_W * POOL_W + inner % POOL_W
    return windows, window // (COUNT_D * COUNT_H * COUNT_W), d, h, w'''

FIND_TRANSPOSED = '''@triton.jit
def find_part(rest, KERNEL, STRIDE, PADDING, DILATION, BEFORE):
    """How many numbers of a filter places of this rest meet along a dimension, and where the first of them do."""
    size = (KERNEL - (rest + PADDING) % STRIDE + STRIDE - 1) // STRIDE
    return size, (rest + PADDING) // STRIDE + BEFORE - DILATION * (size - 1)


@triton.jit
def find_transposed(
    cols,
    phase,
    # sizes
    N,
    PLACES,
    IN_D,
    IN_H,
    IN_W,
    OUT_D: tl.constexpr,
    OUT_H: tl.constexpr,
    OUT_W: tl.constexpr,
    CHANNELS: tl.constexpr,
    # windows
    KERNEL_D: tl.constexpr,
    KERNEL_H: tl.constexpr,
    KERNEL_W: tl.constexpr,
    STRIDE_D: tl.constexpr,
    STRIDE_H: tl.constexpr,
    STRIDE_W: tl.constexpr,
    PADDING_D: tl.constexpr,
    PADDING_H: tl.constexpr,
    PADDING_W: tl.constexpr,
    DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr,
    DILATION_W: tl.constexpr,
    BEFORE_D: tl.constexpr,
    BEFORE_H: tl.constexpr,
    BEFORE_W: tl.constexpr,
    group=0,
    GROUPS: tl.constexpr = 1,
):
    """For every column of a tile: its image, where its window begins, and its place in the result, or N for none.

    All places of a tile leave the same rest when divided by the strides, which is its phase: their windows are
    of the same size, which comes last.
    """
    COUNT_D: tl.constexpr = (OUT_D + STRIDE_D - 1) // STRIDE_D
    COUNT_H: tl.constexpr = (OUT_H + STRIDE_H - 1) // STRIDE_H
    COUNT_W: tl.constexpr = (OUT_W + STRIDE_W - 1) // STRIDE_W
    place = tl.minimum(cols, PLACES - 1).to(tl.int32)
    image = (place // (COUNT_D * COUNT_H * COUNT_W)).to(tl.int64)
    d, h, w = place // (COUNT_H * COUNT_W) % COUNT_D, place // COUNT_W % COUNT_H, place % COUNT_W
    rest_d, rest_h, rest_w = phase // (STRIDE_H * STRIDE_W), phase // STRIDE_W % STRIDE_H, phase % STRIDE_W
    size_d, first_d = find_part(rest_d, KERNEL_D, STRIDE_D, PADDING_D, DILATION_D, BEFORE_D)
    size_h, first_h = find_part(rest_h, KERNEL_H, STRIDE_H, PADDING_H, DILATION_H, BEFORE_H)
    size_w, first_w = find_part(rest_w, KERNEL_W, STRIDE_W, PADDING_W, DILATION_W, BEFORE_W)
    number = image * GROUPS + group
    begin = (((number * IN_D + d + first_d) * IN_H + h + first_h) * IN_W + w + first_w) * CHANNELS
    d, h, w = d * STRIDE_D + rest_d, h * STRIDE_H + rest_h, w * STRIDE_W + rest_w
    inside = (cols < PLACES) & (d < OUT_D) & (h < OUT_H) & (w < OUT_W)
    target = ((image * OUT_D + d) * OUT_H + h) * OUT_W + w
    return number, begin, tl.where(inside, target, N), size_d, size_h, size_w'''

LOAD_WINDOWS = '''@triton.jit
def load_windows(
    pixels_ptr,
    begin,
    start,
    # sizes
    IN_H,
    IN_W,
    CHANNELS: tl.constexpr,
    # windows
    size_d,
    size_h,
    size_w,
    DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr,
    DILATION_W: tl.constexpr,
    # meta-parameters
    BLOCK_K: tl.constexpr,
):
    """BLOCK_K numbers of the window of every column, from `start` on, in the order in which a filter has them."""
    depth = tl.arange(0, BLOCK_K)
    if CHANNELS % BLOCK_K == 0:  # they are channels of one place
        tap = start // CHANNELS
        channel = start - tap * CHANNELS + depth  # of a remainder Triton does not know the divisors
    else:
        tap, channel = (start + depth) // CHANNELS, (start + depth) % CHANNELS
    d, h, w = tap // (size_h * size_w), tap // size_w % size_h, tap % size_w
    place = (d * DILATION_D * IN_H + h * DILATION_H) * IN_W + w * DILATION_W
    pixels_ptrs = pixels_ptr + begin[None, :] + (place * CHANNELS + channel)[:, None]
    if CHANNELS % BLOCK_K == 0:
        return tl.load(pixels_ptrs)
    else:
        inside = start + depth < size_d * size_h * size_w * CHANNELS
        return tl.load(pixels_ptrs, mask=inside[:, None], other=0.0)'''

SUM_WINDOWS = '''@triton.jit
def sum_windows(
    # pointers
    pixels_ptr,
    filters_ptr,
    # channels of all images and places, as blocks of numbers
    rows,
    cols,
    # sizes
    M,
    N,
    CHANNELS,
    IN_D,
    IN_H,
    IN_W,
    OUT_H: tl.constexpr,
    OUT_W: tl.constexpr,
    # windows
    KERNEL_D: tl.constexpr,
    KERNEL_H: tl.constexpr,
    KERNEL_W: tl.constexpr,
    STRIDE_D: tl.constexpr,
    STRIDE_H: tl.constexpr,
    STRIDE_W: tl.constexpr,
    DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr,
    DILATION_W: tl.constexpr,
    BEFORE_D: tl.constexpr,
    BEFORE_H: tl.constexpr,
    BEFORE_W: tl.constexpr,
    # meta-parameters
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """What the filter of each channel makes of the windows at each place, summed in float32."""
    row = tl.minimum(rows, M - 1)  # beyond the last row and column, the last will do
    place = tl.minimum(cols, N - 1).to(tl.int32)
    first_d = place // (OUT_H * OUT_W) * STRIDE_D - BEFORE_D
    first_h, first_w = place // OUT_W % OUT_H * STRIDE_H - BEFORE_H, place % OUT_W * STRIDE_W - BEFORE_W
    pixels_ptrs = pixels_ptr + row[:, None] * IN_D * IN_H * IN_W
    filters_ptrs = filters_ptr + row % CHANNELS * (KERNEL_D * KERNEL_H * KERNEL_W)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for tap in tl.static_range(KERNEL_D * KERNEL_H * KERNEL_W):
        d = first_d + tap // (KERNEL_H * KERNEL_W) * DILATION_D
        h, w = first_h + tap // KERNEL_W % KERNEL_H * DILATION_H, first_w + tap % KERNEL_W * DILATION_W
        inside = (d >= 0) & (d < IN_D) & (h >= 0) & (h < IN_H) & (w >= 0) & (w < IN_W)
        x = tl.load(pixels_ptrs + ((d * IN_H + h) * IN_W + w)[None, :], mask=inside[None, :], other=0.0)
        total += x.to(tl.float32) * tl.load(filters_ptrs + tap).to(tl.float32)[:, None]
    return total'''

NAMES = {
    "find_tile", "pad_images", "pad_images_kernel", "measure_images_kernel", "kept_filters", "make_filters",
    "_filters", "weakref", "find_windows", "load_windows", "undo_scales", "sum_windows", "multiply_places",
    "make_transposed_filters", "find_transposed", "find_part", "itertools", "find_places", "find_pixels",
    "larger", "choose_scales", "add_filters", "turn_filters",
    "round_to_tf32", "find_largest", "find_least", "add_places",
    "load_unscale", "sum_pixels", "room_for_images", "SideBySide", "enter_images", "enter_images_kernel",
    "leave_images", "leave_images_kernel", "find_largest_numbers", "load_largest", "LargestNumbers",
    "keep_largest", "find_image_tile", "find_borders", "join_images", "enter_and_join", "join_and_leave",
}  # fmt: skip
"""What these define at module level."""
