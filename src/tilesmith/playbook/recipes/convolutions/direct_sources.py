"""Triton text for convolutions that read images where they lie."""

ROUND_TO_TF32 = """@triton.jit
def round_to_tf32(x):
    # tl.dot cuts operands off at TF32 where cuDNN rounds them
    return tl.inline_asm_elementwise(
        "cvt.rna.tf32.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
    )"""

ADD_PLACES = '''@triton.jit
def add_places(
    # where the window of each column begins, in memory and in its image, and where the filter of each row does
    pixels_ptrs,
    first_d,
    first_h,
    first_w,
    filters_ptrs,
    begin,
    # numbers of the window that are summed, from `start` on, and those of them that a filter has
    start,
    end,
    SIZE,
    # sizes
    IN_D,
    IN_H,
    IN_W,
    stride_c: tl.constexpr,
    stride_d: tl.constexpr,
    stride_h: tl.constexpr,
    stride_w: tl.constexpr,
    # windows
    KERNEL_D: tl.constexpr,
    KERNEL_H: tl.constexpr,
    KERNEL_W: tl.constexpr,
    DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr,
    DILATION_W: tl.constexpr,
    BORDER_D: tl.constexpr,
    BORDER_H: tl.constexpr,
    BORDER_W: tl.constexpr,
    # meta-parameters
    PACKED: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr = None,
):
    """A tile of the filters times the windows, summed in float32."""
    if PRECISION == "tf32":
        turned = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)  # places in rows: these may stay in registers
    else:
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in tl.range(start, end, BLOCK_K, num_stages=STAGES):
        depth = first + tl.arange(0, BLOCK_K)
        tap, channel = depth % (KERNEL_D * KERNEL_H * KERNEL_W), depth // (KERNEL_D * KERNEL_H * KERNEL_W)
        d, h = tap // (KERNEL_H * KERNEL_W) * DILATION_D, tap // KERNEL_W % KERNEL_H * DILATION_H
        w = tap % KERNEL_W * DILATION_W
        offs = channel.to(tl.int64) * stride_c + d * stride_d + h * stride_h + w * stride_w
        inside = (depth < end)[:, None]
        if BORDER_D:
            place = first_d[None, :] + d[:, None]
            inside = inside & (place >= 0) & (place < IN_D)
        if BORDER_H:
            place = first_h[None, :] + h[:, None]
            inside = inside & (place >= 0) & (place < IN_H)
        if BORDER_W:
            place = first_w[None, :] + w[:, None]
            inside = inside & (place >= 0) & (place < IN_W)
        pixels = tl.load(pixels_ptrs[None, :] + offs[:, None], mask=inside, other=0.0)
        number = depth[None, :] - begin[:, None]
        own = (depth < end)[None, :]
        if PACKED > 1:
            own = own & (number >= 0) & (number < SIZE)
        filters = tl.load(filters_ptrs[:, None] + number, mask=own, other=0.0)
        if PRECISION == "tf32":
            left, right = tl.trans(round_to_tf32(pixels)), tl.trans(round_to_tf32(filters))
            turned = tl.dot(left, right, turned, input_precision=PRECISION)
        else:
            total += tl.dot(filters, pixels, input_precision=PRECISION)
    if PRECISION == "tf32":
        total = tl.trans(turned)
    return total'''

MULTIPLY_PLACES = '''@triton.jit
def multiply_places(
    # pointers
    pixels_ptr,
    filters_ptr,
    # output channels and places of all images, as blocks of numbers; of which groups of channels
    rows,
    cols,
    group,
    # sizes
    M,
    N,
    CHANNELS,
    IN_D,
    IN_H,
    IN_W,
    stride_b: tl.constexpr,
    stride_c: tl.constexpr,
    stride_d: tl.constexpr,
    stride_h: tl.constexpr,
    stride_w: tl.constexpr,
    OUT_D: tl.constexpr,
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
    BORDER_D: tl.constexpr,
    BORDER_H: tl.constexpr,
    BORDER_W: tl.constexpr,
    # meta-parameters
    PACKED: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """A tile of the filters times the window at each place, which is read where it lies.

    A tile has the channels of PACKED groups, side by side; filters are zero for those of other groups. Zero times
    an inf is NaN: then each group is summed by itself.
    """
    place = tl.minimum(cols, N - 1).to(tl.int32)  # beyond the last row and column, the last will do
    row = tl.minimum(rows, M - 1)
    SIZE = CHANNELS * (KERNEL_D * KERNEL_H * KERNEL_W)
    line, plane = place // OUT_W, place // (OUT_H * OUT_W)
    image = plane // OUT_D
    first_d = (plane - image * OUT_D) * STRIDE_D - BEFORE_D
    first_h, first_w = (line - plane * OUT_H) * STRIDE_H - BEFORE_H, (place - line * OUT_W) * STRIDE_W - BEFORE_W
    pixels_ptrs = pixels_ptr + image.to(tl.int64) * stride_b + group * PACKED * CHANNELS * stride_c
    pixels_ptrs += first_d.to(tl.int64) * stride_d + first_h.to(tl.int64) * stride_h + first_w * stride_w
    filters_ptrs = filters_ptr + (group * M + row) * SIZE
    part = tl.zeros_like(row)  # the group of each row among those of the tile
    if PACKED > 1:
        part = row // (M // PACKED)
    total = add_places(
        pixels_ptrs, first_d, first_h, first_w, filters_ptrs, part * SIZE, 0, PACKED * SIZE, SIZE,
        IN_D, IN_H, IN_W, stride_c, stride_d, stride_h, stride_w,
        KERNEL_D, KERNEL_H, KERNEL_W, DILATION_D, DILATION_H, DILATION_W, BORDER_D, BORDER_H, BORDER_W,
        PACKED, PRECISION, BLOCK_M, BLOCK_N, BLOCK_K,
    )
    if PACKED > 1:
        if tl.max(tl.max((total != total).to(tl.int32), axis=1), axis=0) > 0:  # rare
            for one in tl.range(0, PACKED, num_stages=1):
                alone = add_places(
                    pixels_ptrs, first_d, first_h, first_w, filters_ptrs, part * SIZE,
                    one * SIZE, (one + 1) * SIZE, SIZE,
                    IN_D, IN_H, IN_W, stride_c, stride_d, stride_h, stride_w,
                    KERNEL_D, KERNEL_H, KERNEL_W, DILATION_D, DILATION_H, DILATION_W, BORDER_D, BORDER_H, BORDER_W,
                    PACKED, PRECISION, BLOCK_M, BLOCK_N, BLOCK_K, 1,  # small rather than fast
                )
                total = tl.where((part == one)[:, None], alone, total)
    return total'''
