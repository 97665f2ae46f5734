"""Text for filters: how they become rows of halves, which are kept."""

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

MAKE_TRANSPOSED_FILTERS = '''def make_transposed_filters(
    weight: torch.Tensor,
    CHANNELS: int,
    BLOCK_K: int,
    HALVES: int,
    TAPS: int,
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    GROUPS: int = 1,
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(C, O, *sizes) as the filters of one convolution after the other, for each rest of a place by the strides.

    Each group has O filters for its own channels among C. Places whose rest is r meet every stride-th number of a
    filter, from (r + padding) % stride on, backwards.
    """
    rows, weight = [], weight.unflatten(0, (GROUPS, -1)).transpose(0, 1).flatten(1, 2)
    for rests in itertools.product(*map(range, strides)):
        firsts = [(rest + padding) % stride for rest, padding, stride in zip(rests, paddings, strides)]
        part = weight.detach()[(..., *(slice(first, None, by) for first, by in zip(firsts, strides)))]
        part = part.flip(tuple(range(2, part.dim()))).movedim(0, -1).flatten(1, -2)
        rows.append(nn.functional.pad(part, (0, 0, 0, TAPS - part.shape[1])))
    return make_filters(torch.cat(rows).movedim(-1, 1), CHANNELS, BLOCK_K, HALVES)'''

TURN_FILTERS = '''def turn_filters(weight: torch.Tensor) -> torch.Tensor:
    """(C, 1, *sizes) with the numbers of all channels side by side, for each place of a window."""
    return weight.detach().flatten(1).t().contiguous()'''

MEASURE_FILTERS = '''def add_filters(weight: torch.Tensor) -> torch.Tensor:
    """How many times as large as the numbers of an image those of its convolution may be."""
    return weight.detach().nan_to_num(0.0, 0.0, 0.0).abs().flatten(1).sum(1).amax()


def find_largest(weight: torch.Tensor) -> torch.Tensor:
    return weight.detach().nan_to_num(0.0, 0.0, 0.0).abs().amax()


def find_least(weight: torch.Tensor) -> torch.Tensor:
    return weight.detach().amin()'''
