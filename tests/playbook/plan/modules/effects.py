"""What a forward pass does beside computing: in-place operators, views of what is written, buffers that change."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class InPlaceChain(nn.Module):
    def forward(self, x):
        y = x * 2
        y += 1
        y.mul_(0.5).relu_()
        return torch.sigmoid(y)


class InPlaceOnInput(nn.Module):
    """Whoever gave `x` sees it changed."""

    def forward(self, x):
        x.mul_(2)
        return torch.relu(x + 1) * 3


class InPlaceOnView(nn.Module):
    def forward(self, x):
        y = x * 2
        y[:, 0] = 0
        y[:, 1:3] += 1
        return torch.tanh(y) * 0.5


class InPlaceThenAlias(nn.Module):
    """`kept` is the memory that is written into afterwards."""

    def forward(self, x):
        h = torch.exp(-x.abs())
        kept = h.view(-1)
        h.add_(1)
        return kept * 2, h.sqrt() - 1


class MaskedAssignment(nn.Module):
    def forward(self, x, mask):
        y = x.clone()
        y[mask] = 0.0
        return F.softplus(y) * 2 - 1


class ScatterInPlace(nn.Module):
    def forward(self, x, index):
        out = torch.zeros(x.shape[0], 9, device=x.device)
        out.scatter_add_(1, index, torch.relu(x) * 0.5)
        return out / (1 + out.abs())


class StepCounter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.steps += 1
        return torch.tanh(x * 0.5) + 1


class CountedScale(nn.Module):
    """The counter is read after it was raised."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x):
        self.steps.add_(1)
        return torch.tanh(x) / self.steps.sqrt() * 2


class ExponentialAverage(nn.Module):
    def __init__(self, dim=12, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(dim))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean.mul_(1 - self.momentum).add_(x.mean(0), alpha=self.momentum)
        return torch.sigmoid((x - self.mean) * 3)


class ReassignedBuffer(nn.Module):
    """A buffer gets a new tensor instead of new values."""

    def __init__(self, dim=12):
        super().__init__()
        self.register_buffer("last", torch.zeros(dim))

    def forward(self, x):
        out = torch.relu(x - self.last) * 0.3
        self.last = x.mean(0)
        return out


class Codebook(nn.Module):
    """Vector quantization: nearest rows, their usage counted, and the straight-through sum."""

    def __init__(self, codes=8, dim=6):
        super().__init__()
        self.embed = nn.Embedding(codes, dim)
        self.register_buffer("usage", torch.zeros(codes))

    def forward(self, x):
        distance = (x.pow(2).sum(1, keepdim=True) - 2 * x @ self.embed.weight.t()) + self.embed.weight.pow(2).sum(1)
        codes = distance.argmin(dim=1)
        self.usage += F.one_hot(codes, self.usage.shape[0]).float().sum(0)
        quantized = self.embed(codes)
        return x + (quantized - x).detach(), codes


class RunningMaximum(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("peak", torch.tensor(1e-3))

    def forward(self, x):
        self.peak.copy_(torch.maximum(self.peak, x.abs().max()))
        return (x / self.peak).clamp(-1, 1) * 127


class ReturnsItsBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(12))

    def forward(self, x):
        self.total += x.sum(0)
        return torch.relu(x) * 2 + 1, self.total


class OutArgument(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scratch", torch.zeros(10, 12))

    def forward(self, x):
        torch.add(x, 1.0, out=self.scratch)
        return torch.sin(self.scratch) * 3 + x


class TransposedView(nn.Module):
    """Several views of one tensor, none of them written."""

    def forward(self, x):
        t = x.t()
        return torch.relu(t) * 2, t.reshape(-1)[::2] + 1, x.unfold(1, 3, 2).sum(-1)


class ReturnsViews(nn.Module):
    def forward(self, x):
        h = torch.relu(x) + 1
        return h[:, :4], h[:, 4:], h


class ReturnsTheInput(nn.Module):
    def forward(self, x):
        return x, x.view(-1), torch.tanh(x) * 2


class DetachedCopies(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            scale = x.abs().amax(-1, keepdim=True).clamp_min_(1e-5)
        return (x / scale).round_().detach() * scale


class FillsDiagonal(nn.Module):
    def forward(self, x):
        similarity = x @ x.t()
        similarity.fill_diagonal_(float("-inf"))
        return F.log_softmax(similarity / 0.1, dim=-1)


class RandomNoise(nn.Module):
    """Random whatever the mode."""

    def forward(self, x):
        return torch.relu(x + 0.1 * torch.randn_like(x)) * 2


INPUTS = {
    "InPlaceChain": lambda: [torch.randn(10, 12)],
    "InPlaceOnInput": lambda: [torch.randn(10, 12)],
    "InPlaceOnView": lambda: [torch.randn(10, 12)],
    "InPlaceThenAlias": lambda: [torch.randn(10, 12)],
    "MaskedAssignment": lambda: [torch.randn(10, 12), torch.rand(10, 12) > 0.5],
    "ScatterInPlace": lambda: [torch.randn(6, 12), torch.randint(0, 9, (6, 12))],
    "StepCounter": lambda: [torch.randn(10, 12)],
    "CountedScale": lambda: [torch.randn(10, 12)],
    "ExponentialAverage": lambda: [torch.randn(10, 12)],
    "ReassignedBuffer": lambda: [torch.randn(10, 12)],
    "Codebook": lambda: [torch.randn(10, 6)],
    "RunningMaximum": lambda: [torch.randn(10, 12)],
    "ReturnsItsBuffer": lambda: [torch.randn(10, 12)],
    "OutArgument": lambda: [torch.randn(10, 12)],
    "TransposedView": lambda: [torch.randn(10, 12)],
    "ReturnsViews": lambda: [torch.randn(10, 12)],
    "ReturnsTheInput": lambda: [torch.randn(10, 12)],
    "DetachedCopies": lambda: [torch.randn(10, 12)],
    "FillsDiagonal": lambda: [torch.randn(10, 12)],
    "RandomNoise": lambda: [torch.randn(10, 12)],
}
