import torch
import torch.nn.functional as F


def scaled_softmax(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """Softmax over the last dimension.

    x [..., N]; float32
    """
    return F.softmax(x * scale, dim=-1)
