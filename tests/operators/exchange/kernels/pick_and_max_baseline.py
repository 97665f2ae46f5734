import torch


def pick_and_max(x: torch.Tensor, index: torch.Tensor, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """An element of each row, scaled, and the largest.

    x [M, N], index [M] int64 below N; float32
    """
    picked = x.gather(1, index[:, None])[:, 0]
    return picked * scale, x.amax(dim=1)
