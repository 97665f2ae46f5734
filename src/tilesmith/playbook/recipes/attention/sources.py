"""What kernels for attention are made of, as text."""

AS_HEADS = '''def as_heads(x: torch.Tensor, *batch: int) -> torch.Tensor:
    """A view of (..., rows, columns) as (batches, heads, rows, columns); what is missing is repeated."""
    x = x.expand(*batch, *x.shape[-2:])
    return x[(None,) * (4 - x.dim())] if x.dim() <= 4 else x.flatten(0, -4)'''

MULTIPLY_SPLIT = '''@triton.jit
def multiply_split(left_high, left_low, right_high, right_low):
    """A product of numbers that are two halves each, by three products of halves."""
    part = tl.dot(left_high, right_low, input_precision="ieee")  # halves: nothing is rounded
    part = tl.dot(left_low, right_high, part, input_precision="ieee")
    return tl.dot(left_high, right_high, part, input_precision="ieee")'''

SPLIT = '''@triton.jit
def split(x):
    """Two halves for every number of a tile; an inf leaves nothing for the second."""
    high = x.to(tl.float16)
    low = tl.where(tl.abs(x) < float("inf"), x - high.to(tl.float32), 0.0)
    return high, low.to(tl.float16)'''

SPLIT_POWERS = '''@triton.jit
def split(x):
    """Two halves for every number of a tile, none of which is above 2**12."""
    high = x.to(tl.float16)
    return high, (x - high.to(tl.float32)).to(tl.float16)'''

SCALE_WEIGHTS = '''@triton.jit
def scale_weights(weights):
    """Rows scaled by powers of two, the largest of each to about 2**12, and what undoes that."""
    largest = tl.max(tl.abs(weights), axis=1)
    exponent = (largest.to(tl.int32, bitcast=True) >> 23) - 127
    shift = tl.minimum(12 - exponent, 110)  # a row of zeros has no exponent
    scale = ((shift + 127) << 23).to(tl.float32, bitcast=True)
    return weights * scale[:, None], ((127 - shift) << 23).to(tl.float32, bitcast=True)'''

SCORES = '''@triton.jit
def {name}(
{parameters}
):
    """{told}; `rows` are numbers of queries, counted through all heads, and `cols` those of keys."""
    mask_m, mask_n = rows >= 0, cols < N
    mask = mask_m & mask_n
{lines}
    return {value}'''

NAMES = {"as_heads", "multiply_split", "split", "scale_weights"}
"""What these define at module level."""
