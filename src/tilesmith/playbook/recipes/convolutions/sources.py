"""Triton text that every file with a convolution shares, and the names that it takes.

Images have three dimensions here; those that a task does not have are of size one.
"""

PAD_IMAGES = '''@triton.jit
def measure_images_kernel(x_ptr, largest_ptr, SIZE, SPAN, PARTS, BLOCK: tl.constexpr):
    """The largest finite number in every part of an image, without its sign."""
    image, part = (tl.program_id(0) // PARTS).to(tl.int64), (tl.program_id(0) % PARTS).to(tl.int64)
    last = tl.minimum((part + 1) * SPAN, SIZE)
    largest = tl.zeros((BLOCK,), tl.float32)
    for start in range(part * SPAN, last, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.abs(tl.load(x_ptr + image * SIZE + offs, mask=offs < last, other=0.0))
        largest = tl.maximum(largest, tl.where(x < float("inf"), x, 0.0))
    tl.store(largest_ptr + tl.program_id(0), tl.max(largest, axis=0))


@triton.jit
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

KEPT_FILTERS = '''_filters = {}


def kept_filters(make, weight: torch.Tensor, *how) -> tuple[torch.Tensor | None, ...]:
    """What `make` makes of a weight, made again when that changes, and let go with it.

    A write through `weight.data` does not count as a change in PyTorch: call `_filters.clear()` after one.
    """
    if weight.is_inference():
        return make(weight, *how)  # such a tensor does not count its changes
    name, state = (id(weight), make, how), (weight._version, weight.data_ptr())
    owner, known, filters = _filters.get(name, (lambda: None, None, None))
    if owner() is not weight or known != state:
        filters = make(weight, *how)
        _filters[name] = (weakref.ref(weight, lambda _: _filters.pop(name, None)), state, filters)
    return filters'''

MAKE_FILTERS = '''def make_filters(
    weight: torch.Tensor, CHANNELS: int, BLOCK_K: int, HALVES: int
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(O, C, *sizes) as rows of (*sizes, CHANNELS), with zeros at the end that make blocks whole.

    Of float32 numbers: one half, or two, and what undoes each row's scale.
    """
    rows = nn.functional.pad(weight.detach().movedim(1, -1), (0, CHANNELS - weight.shape[1])).flatten(1)
    rows = nn.functional.pad(rows, (0, -rows.shape[1] % BLOCK_K)).contiguous()
    if HALVES == 0:
        return rows, None, None
    largest = rows.abs().nan_to_num(0.0, posinf=0.0).amax(1, keepdim=True)
    shift = (12 - ((largest.view(torch.int32) >> 23) - 127)).clamp(max=110)  # a row of zeros has no exponent
    scaled = rows * ((shift + 127) << 23).view(torch.float32)
    high = scaled.half()
    low = torch.where(scaled.isfinite(), scaled - high.float(), 0.0).half() if HALVES == 2 else None
    return high, low, ((127 - shift) << 23).view(torch.float32)'''

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
):
    """The image that each column of a tile belongs to, and where its window begins among all padded images."""
    place = tl.minimum(cols, N - 1).to(tl.int32)  # beyond the last column, the last will do
    image = place // (OUT_D * OUT_H * OUT_W)
    d, h, w = place // (OUT_H * OUT_W) % OUT_D, place // OUT_W % OUT_H, place % OUT_W
    begin = ((image.to(tl.int64) * IN_D + d * STRIDE_D) * IN_H + h * STRIDE_H) * IN_W + w * STRIDE_W
    return image, begin * CHANNELS'''

MAKE_TRANSPOSED_FILTERS = '''def make_transposed_filters(
    weight: torch.Tensor,
    CHANNELS: int,
    BLOCK_K: int,
    HALVES: int,
    TAPS: int,
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(C, O, *sizes) as the filters of one convolution after the other, for each rest of a place by the strides.

    Places whose rest is r meet every stride-th number of a filter, from (r + padding) % stride on, backwards.
    """
    rows = []
    for rests in itertools.product(*map(range, strides)):
        firsts = [(rest + padding) % stride for rest, padding, stride in zip(rests, paddings, strides)]
        part = weight.detach()[(..., *(slice(first, None, by) for first, by in zip(firsts, strides)))]
        part = part.flip(tuple(range(2, part.dim()))).movedim(0, -1).flatten(1, -2)
        rows.append(nn.functional.pad(part, (0, 0, 0, TAPS - part.shape[1])))
    return make_filters(torch.cat(rows).movedim(-1, 1), CHANNELS, BLOCK_K, HALVES)'''

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
    begin = (((image * IN_D + d + first_d) * IN_H + h + first_h) * IN_W + w + first_w) * CHANNELS
    d, h, w = d * STRIDE_D + rest_d, h * STRIDE_H + rest_h, w * STRIDE_W + rest_w
    inside = (cols < PLACES) & (d < OUT_D) & (h < OUT_H) & (w < OUT_W)
    target = ((image * OUT_D + d) * OUT_H + h) * OUT_W + w
    return image, begin, tl.where(inside, target, N), size_d, size_h, size_w'''

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
        tap, channel = start // CHANNELS, start % CHANNELS + depth
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

UNDO_SCALES = """@triton.jit
def undo_scales(total, pixels_scale_ptr, filters_scale_ptr, number, row):
    pixels_scale = tl.load(pixels_scale_ptr + number)[None, :]
    filters_scale = tl.load(filters_scale_ptr + row)[:, None]
    small, large = tl.minimum(pixels_scale, filters_scale), tl.maximum(pixels_scale, filters_scale)
    return total * small * large  # in this order nothing overflows on the way"""

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

MULTIPLY_PLACES = '''@triton.jit
def multiply_places(
    # pointers
    pixels_ptr,
    filters_ptr,
    # output channels and places of all images, as blocks of numbers
    rows,
    cols,
    # sizes
    M,
    N,
    CHANNELS,
    stride_b,
    stride_c,
    stride_d,
    stride_h,
    stride_w,
    OUT_D: tl.constexpr,
    OUT_H: tl.constexpr,
    OUT_W: tl.constexpr,
    # windows
    STRIDE_D: tl.constexpr,
    STRIDE_H: tl.constexpr,
    STRIDE_W: tl.constexpr,
    # meta-parameters
    PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """A tile of the filters times the channels at each place, summed in float32."""
    row = tl.minimum(rows, M - 1)  # beyond the last row and column, the last will do
    place = tl.minimum(cols, N - 1)
    pixels_ptrs = pixels_ptr + place // (OUT_D * OUT_H * OUT_W) * stride_b
    pixels_ptrs += place // (OUT_H * OUT_W) % OUT_D * STRIDE_D * stride_d
    pixels_ptrs += place // OUT_W % OUT_H * STRIDE_H * stride_h + place % OUT_W * STRIDE_W * stride_w
    depth = tl.arange(0, BLOCK_K)
    pixels_tile = pixels_ptrs[None, :] + depth.to(tl.int64)[:, None] * stride_c
    filters_tile = filters_ptr + row[:, None] * CHANNELS + depth[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, CHANNELS, BLOCK_K):
        filters = tl.load(filters_tile, mask=depth[None, :] < CHANNELS - start, other=0.0)
        pixels = tl.load(pixels_tile, mask=depth[:, None] < CHANNELS - start, other=0.0)
        total += tl.dot(filters, pixels, input_precision=PRECISION)
        filters_tile += BLOCK_K
        pixels_tile += BLOCK_K * stride_c
    return total'''

NAMES = {
    "find_tile", "pad_images", "pad_images_kernel", "measure_images_kernel", "kept_filters", "make_filters",
    "_filters", "weakref", "find_windows", "load_windows", "undo_scales", "sum_windows", "multiply_places",
    "make_transposed_filters", "find_transposed", "find_part", "itertools",
}  # fmt: skip
"""What these define at module level."""
