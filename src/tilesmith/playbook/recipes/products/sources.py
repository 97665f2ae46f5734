"""Triton text that every file with a product shares, and the names that it takes."""

_IN_GROUPS = """    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = number // (GROUP * tiles_n)
    height = tl.minimum(tiles_m - group * GROUP, GROUP)
    tile_m = group * GROUP + number % (GROUP * tiles_n) % height
    tile_n = number % (GROUP * tiles_n) // height"""
FIND_TILE = f'''@triton.jit
def find_tile(number, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """Rows and columns of a program's tile; neighbors in time share rows and columns in L2."""
{_IN_GROUPS}
    rows = tile_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tile_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    return rows, cols'''

FIND_CORNER = f'''@triton.jit
def find_corner(number, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """The first row and column of a tile; neighbors in time share rows and columns in L2."""
{_IN_GROUPS}
    return tile_m * BLOCK_M, tile_n * BLOCK_N'''

LOAD_ROWS = '''@triton.jit
def load_rows(x_ptrs, rows, cols, M, last, DIAGONAL, TRIANGLE: tl.constexpr):
    """A tile, with zeros beyond the last row and column and outside of an upper (1) or lower (-1) triangle."""
    inside = (rows < M) & (cols < last)
    if TRIANGLE != 0:
        inside = inside & ((cols - rows - DIAGONAL) * TRIANGLE >= 0)
    return tl.load(x_ptrs, mask=inside, other=0.0)'''

SPLIT_ROWS = '''@triton.jit
def split_rows_kernel(
    # pointers
    x_ptr,
    high_ptr,
    low_ptr,
    scale_ptr,
    # sizes
    M,
    K,
    CHUNK,
    CHUNKS,
    PADDED,
    INNER,
    stride_outer,
    stride_inner,
    stride_m,
    stride_k,
    DIAGONAL,
    # meta-parameters
    TRIANGLE: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    ONCE: tl.constexpr,
):
    """Scale each row of a chunk by a power of two, its largest to about 2**12; x * scale is high + low in halves.

    An inf stays one in `high` and leaves nothing for `low`.
    """
    tiles = tl.cdiv(M, ROWS)
    part = tl.program_id(0) // tiles
    batch, chunk = (part // CHUNKS).to(tl.int64), part % CHUNKS
    rows = ((tl.program_id(0) % tiles).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    first = chunk * CHUNK
    last = tl.minimum(first + CHUNK, K)
    x_ptr += batch // INNER * stride_outer + batch % INNER * stride_inner
    x_ptrs = x_ptr + rows * stride_m + (first + cols).to(tl.int64) * stride_k
    x = load_rows(x_ptrs, rows, first + cols, M, last, DIAGONAL, TRIANGLE)
    largest = tl.where(tl.abs(x) < float("inf"), tl.abs(x), 0.0)
    for start in range(BLOCK, CHUNK, BLOCK):
        x = load_rows(x_ptrs + start * stride_k, rows, first + start + cols, M, last, DIAGONAL, TRIANGLE)
        largest = tl.maximum(largest, tl.where(tl.abs(x) < float("inf"), tl.abs(x), 0.0))
    exponent = (tl.max(largest, axis=1, keep_dims=True).to(tl.int32, bitcast=True) >> 23) - 127
    shift = tl.minimum(12 - exponent, 110)  # a row of zeros has no exponent
    scale = ((shift + 127) << 23).to(tl.float32, bitcast=True)
    lines = part.to(tl.int64) * M + rows
    for start in range(0, PADDED, BLOCK):
        if not ONCE:
            x = load_rows(x_ptrs + start * stride_k, rows, first + start + cols, M, last, DIAGONAL, TRIANGLE)
        scaled = x * scale
        high = scaled.to(tl.float16)
        low = tl.where(tl.abs(scaled) < float("inf"), scaled - high.to(tl.float32), 0.0).to(tl.float16)
        inside = (rows < M) & (start + cols < PADDED)
        tl.store(high_ptr + lines * PADDED + start + cols, high, mask=inside)
        tl.store(low_ptr + lines * PADDED + start + cols, low, mask=inside)
    tl.store(scale_ptr + lines, ((127 - shift) << 23).to(tl.float32, bitcast=True), mask=rows < M)


def split_rows(
    x: torch.Tensor, chunks: int = 1, triangle: int = 0, diagonal: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two halves for every number of (..., M, K), and what undoes each row's scale; x may have any strides.

    Rows come in chunks of the summed dimension, each padded with zeros to whole blocks. Of x only a triangle may
    count: the upper one (1), where column - row is not below `diagonal`, or the lower one (-1).
    """
    x = x[(None,) * (4 - x.dim())] if x.dim() <= 4 else x.flatten(0, -4)
    OUTER, INNER, M, K = x.shape
    CHUNK = triton.cdiv(triton.cdiv(K, chunks), 64) * 64 if chunks > 1 else K
    PADDED = triton.cdiv(CHUNK, 64) * 64
    high = torch.empty((OUTER * INNER * chunks, M, PADDED), dtype=torch.float16, device=x.device)
    low = torch.empty_like(high)
    scale = torch.empty((OUTER * INNER * chunks, M), dtype=torch.float32, device=x.device)
    if x.stride(3) == 1 or M == 1:  # a row lies in one piece
        BLOCK = min(8192, triton.next_power_of_2(PADDED))
        ROWS = max(1, 4096 // BLOCK)
    else:
        BLOCK = min(256, triton.next_power_of_2(PADDED))
        ROWS = 32 if M > 8192 else 16  # enough programs, and 64 bytes at least in one piece
    split_rows_kernel[(triton.cdiv(M, ROWS) * OUTER * INNER * chunks,)](
        # inputs
        x,
        # outputs
        high, low, scale,
        # sizes
        M, K, CHUNK, chunks, PADDED, INNER, x.stride(0), x.stride(1), x.stride(2), x.stride(3), diagonal,
        # constants
        TRIANGLE=triangle, ROWS=ROWS, BLOCK=BLOCK, ONCE=BLOCK >= PADDED, num_warps=8,
    )
    return high, low, scale'''

KEPT_HALVES = '''_halves = {}


def kept_halves(weight: torch.Tensor, rows: torch.Tensor, **how: int) -> tuple[torch.Tensor, ...]:
    """The halves of a weight, made again when it changes, and let go with it. `rows` is a view of it.

    A write through `weight.data` does not count as a change in PyTorch: call `_halves.clear()` after one.
    """
    if weight.is_inference():
        return split_rows(rows, **how)  # such a tensor does not count its changes
    name, state = (id(weight), rows.stride(), *how.items()), (weight._version, weight.data_ptr())
    owner, known, halves = _halves.get(name, (lambda: None, None, None))
    if owner() is not weight or known != state:
        halves = split_rows(rows, **how)
        _halves[name] = (weakref.ref(weight, lambda _: _halves.pop(name, None)), state, halves)
    return halves'''

MULTIPLY_HALVES = '''@triton.jit
def multiply_halves(
    # pointers
    left_high_ptr,
    left_low_ptr,
    left_scale_ptr,
    right_high_ptr,
    right_low_ptr,
    right_scale_ptr,
    # rows of both, as blocks of numbers
    left,
    right,
    # sizes
    PADDED,
    first,
    last,
    # meta-parameters
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """A tile of left @ right.T out of three products of halves; all but `first` to `last` of a row is zero."""
    depth = tl.arange(0, BLOCK_K)
    left_offs = left[:, None] * PADDED + depth[None, :]
    right_offs = right[None, :] * PADDED + depth[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(first, last, BLOCK_K):
        left_high = tl.load(left_high_ptr + left_offs + start)
        left_low = tl.load(left_low_ptr + left_offs + start)
        right_high = tl.load(right_high_ptr + right_offs + start)
        right_low = tl.load(right_low_ptr + right_offs + start)
        part = tl.dot(left_high, right_low, input_precision="ieee")  # halves: nothing is rounded
        part = tl.dot(left_low, right_high, part, input_precision="ieee")
        part = tl.dot(left_high, right_high, part, input_precision="ieee")
        total += part  # the tensor core truncates its running sum: it is kept short
    if tl.max(tl.max((total != total).to(tl.int32), axis=1), axis=0) > 0:  # inf or NaN: `high` alone has them
        plain = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for start in tl.range(first, last, BLOCK_K, num_stages=1):  # rare: it need not be fast, but small
            left_high = tl.load(left_high_ptr + left_offs + start)
            right_high = tl.load(right_high_ptr + right_offs + start)
            plain = tl.dot(left_high, right_high, plain, input_precision="ieee")
        total = tl.where(total != total, plain, total)
    left_scale = tl.load(left_scale_ptr + left)[:, None]
    right_scale = tl.load(right_scale_ptr + right)[None, :]
    small, large = tl.minimum(left_scale, right_scale), tl.maximum(left_scale, right_scale)
    return total * small * large  # in this order nothing overflows on the way'''

HALVES_PARTS = '''@triton.jit
def halves_parts_kernel(
    # pointers
    left_high_ptr,
    left_low_ptr,
    left_scale_ptr,
    right_high_ptr,
    right_low_ptr,
    right_scale_ptr,
    parts_ptr,
    # sizes
    M,
    N,
    PADDED,
    # meta-parameters
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    """One chunk of the summed dimension: a product of its own, which another kernel adds to the others."""
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    chunk = (tl.program_id(0) // tiles).to(tl.int64)
    rows, cols = find_tile(tl.program_id(0) % tiles, M, N, BLOCK_M, BLOCK_N, GROUP)
    tl.assume(PADDED % BLOCK_K == 0)  # rows end in zeros
    left, right = chunk * M + rows % M, chunk * N + cols % N  # beyond the last row, any row will do
    part = multiply_halves(
        left_high_ptr, left_low_ptr, left_scale_ptr, right_high_ptr, right_low_ptr, right_scale_ptr,
        left, right, PADDED, 0, PADDED, BLOCK_M, BLOCK_N, BLOCK_K,
    )
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(parts_ptr + (chunk * M + rows[:, None]) * N + cols[None, :], part, mask=mask)'''

LOADS = {
    "left": "left = tl.load(left_ptrs[:, None] + k[None, :] * left_stride_k, mask=k[None, :] < K, other=0.0)",
    "right": "right = tl.load(right_ptrs[None, :] + k[:, None] * right_stride_k, mask=k[:, None] < K, other=0.0)",
}
DOTS = {
    "few_floats": 'total += tl.dot(left, right, input_precision="tf32x3")  # nearly exact, and short sums',
    "floats": 'total += tl.dot(left, right, input_precision="bf16x6")  # exact to float32, and short sums',
    "tiles": 'total = tl.dot(left, right, total, input_precision="ieee")  # of halves: nothing is rounded',
}
_MULTIPLY_TILES = """@triton.jit
def multiply_WAY(
    # pointers of the rows of both
    left_ptrs,
    right_ptrs,
    # sizes
    first,
    K,
    CHUNK,
    left_stride_k,
    right_stride_k,
    # meta-parameters
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
BODY"""
_IN_TILES = '''    """A tile of left @ right.T over a chunk of the summed dimension, summed in float32."""
    depth = tl.arange(0, BLOCK_K)
    k = first + depth.to(tl.int64)
    left_tile = left_ptrs[:, None] + k[None, :] * left_stride_k
    right_tile = right_ptrs[None, :] + k[:, None] * right_stride_k
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(first, first + CHUNK, BLOCK_K):
        left = tl.load(left_tile, mask=depth[None, :] < K - start, other=0.0)
        right = tl.load(right_tile, mask=depth[:, None] < K - start, other=0.0)
        DOT
        left_tile += BLOCK_K * left_stride_k
        right_tile += BLOCK_K * right_stride_k
    return total'''
_IN_ONE_ROW = '''    """One row of left @ right.T over a chunk of the summed dimension, added up at the end."""
    depth = tl.arange(0, BLOCK_K)[None, :]
    k = first + depth.to(tl.int64)
    left_tile = left_ptrs[:, None] + k * left_stride_k
    right_tile = right_ptrs[:, None] + k * right_stride_k
    total = tl.zeros((BLOCK_N, BLOCK_K), tl.float32)
    for start in range(first, first + CHUNK, BLOCK_K):
        left = tl.load(left_tile, mask=depth < K - start, other=0.0)
        right = tl.load(right_tile, mask=depth < K - start, other=0.0)
        total += left * right
        left_tile += BLOCK_K * left_stride_k
        right_tile += BLOCK_K * right_stride_k
    return tl.sum(total, axis=1)[None, :]'''
_BODIES = {way: _IN_TILES.replace("DOT", dot) for way, dot in DOTS.items()} | {"row": _IN_ONE_ROW}
MULTIPLY = {way: _MULTIPLY_TILES.replace("WAY", way).replace("BODY", body) for way, body in _BODIES.items()}
"""Functions that multiply numbers as they are: float32 ones, few or a single row of those, and halves."""

TILES_PARTS = '''@triton.jit
def {way}_parts_kernel(
    # pointers
    left_ptr,
    right_ptr,
    parts_ptr,
    # sizes
    M,
    N,
    K,
    CHUNK,
    left_stride_m,
    left_stride_k,
    right_stride_n,
    right_stride_k,
    # meta-parameters
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    """One chunk of the summed dimension: a product of its own, which another kernel adds to the others."""
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    chunk = tl.program_id(0) // tiles
    rows, cols = find_tile(tl.program_id(0) % tiles, M, N, BLOCK_M, BLOCK_N, GROUP)
    left_ptrs = left_ptr + rows % M * left_stride_m  # beyond the last row, any row will do
    right_ptrs = right_ptr + cols % N * right_stride_n
    part = multiply_{way}(
        left_ptrs, right_ptrs, chunk * CHUNK, K, CHUNK, left_stride_k, right_stride_k, BLOCK_M, BLOCK_N, BLOCK_K
    )
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(parts_ptr + (chunk.to(tl.int64) * M + rows[:, None]) * N + cols[None, :], part, mask=mask)'''

DESCRIBE_TILES = '''def describe_tiles(x: torch.Tensor, height: int, width: int) -> tuple[TensorDescriptor, bool]:
    """Tiles of a matrix for the GPU to copy by itself, and whether they are tiles of its transpose.

    Rows, or columns, must lie in one piece and begin at multiples of 16 bytes. Any other matrix is copied first.
    """
    is_turned = x.stride(0) == 1 and x.stride(1) != 1
    if is_turned:
        x, height, width = x.mT, width, height
    step = 16 // x.element_size()
    if x.stride(1) != 1 or x.stride(0) % step or x.stride(0) < x.shape[1] or x.data_ptr() % 16:
        aligned = x.new_empty((x.shape[0], triton.cdiv(x.shape[1], step) * step))[:, : x.shape[1]]
        x = aligned.copy_(x)
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [height, width]), is_turned'''

SPLIT_COLUMNS = '''@triton.jit
def split_columns(x, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """The left and the right half of a tile."""
    return tl.split(tl.permute(tl.reshape(x, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1)))'''

MULTIPLY_DESCRIBED = '''@triton.jit
def multiply_described(
    # descriptors
    left_tiles,
    right_tiles,
    # sizes
    first_row,
    first_col,
    K,
    # meta-parameters
    LEFT_TURNED: tl.constexpr,
    RIGHT_TURNED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """A tile of left @ right.T, summed in float32; beyond their edges both are zero."""
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        if LEFT_TURNED:
            left = left_tiles.load([start, first_row]).T
        else:
            left = left_tiles.load([first_row, start])
        if RIGHT_TURNED:
            right = right_tiles.load([start, first_col])
        else:
            right = right_tiles.load([first_col, start]).T
        DOT
    return total'''.replace("DOT", DOTS["tiles"])

NAMES = {
    "find_tile", "load_rows", "split_rows", "split_rows_kernel", "kept_halves", "_halves", "weakref",
    "multiply_halves", "halves_parts_kernel", "multiply_tiles", "tiles_parts_kernel",
    "multiply_floats", "floats_parts_kernel", "multiply_few_floats", "few_floats_parts_kernel",
    "multiply_row", "row_parts_kernel",
    "find_corner", "describe_tiles", "split_columns", "multiply_described", "TensorDescriptor",
}  # fmt: skip
"""What these define at module level."""
