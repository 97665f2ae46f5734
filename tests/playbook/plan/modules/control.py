"""What decides how a pass goes and what it gives: arguments, branches, loops, types, constants, losses, outputs."""

from collections import namedtuple
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

Heads = namedtuple("Heads", ["boxes", "scores"])


@dataclass
class ModelOutput:
    logits: torch.Tensor
    hidden: torch.Tensor | None = None


class DictOutput(nn.Module):
    def forward(self, x):
        hidden = torch.relu(x) * 2
        return {"hidden": hidden, "pooled": hidden.mean(1), "count": 3}


class DataclassOutput(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.head = nn.Linear(dim, 5)

    def forward(self, x):
        hidden = torch.tanh(x) * 2 + 1
        return ModelOutput(logits=self.head(hidden), hidden=hidden)


class WordsInOutput(nn.Module):
    def forward(self, x):
        return {"scores": torch.exp(-x.abs()) * 2, "kind": "exp"}


class CountsValues(nn.Module):
    """How many there are depends on values, but for `minlength`."""

    def forward(self, x):
        places = (torch.sigmoid(x) * 8).long().clamp(0, 7)
        counts = torch.bincount(places.flatten(), minlength=8)
        return (counts / counts.sum())[places] * 2 - 1


class ViewOfSum(nn.Module):
    """Two kernels look at a third one's results, one of them at another shape."""

    def forward(self, x, y):
        d = -2 * torch.matmul(x, y.t())
        d += torch.sum(x**2, -1).view(x.shape[0], 1)
        nearest, places = torch.sort(d, dim=-1)
        share = 1.0 / (nearest[:, :3] + 9)
        return share / share.sum(1, keepdim=True), places


class NamedTupleOutput(nn.Module):
    def forward(self, x):
        return Heads(torch.sigmoid(x[..., :4]) * 2 - 1, torch.softmax(x[..., 4:], -1))


class BatchDictionary(nn.Module):
    def forward(self, batch):
        x = batch["features"] * batch["weight"].unsqueeze(-1)
        return torch.where(batch["mask"], torch.relu(x), -x) * 0.5


class OptionalArguments(nn.Module):
    def forward(self, x, mask=None, scale=None, *, bias=None):
        if scale is not None:
            x = x * scale
        if mask is not None:
            x = x.masked_fill(~mask, -1e9)
        if bias is not None:
            x = x + bias
        return torch.softmax(x, dim=-1)


class ManyArguments(nn.Module):
    def forward(self, *xs, **options):
        total = sum(torch.tanh(x) for x in xs)
        return total * options.get("gain", 2.0)


class BranchOnNumber(nn.Module):
    """`alpha` is a factor, and decides a branch as well."""

    def forward(self, x, alpha=0.7):
        y = torch.relu(x) * alpha
        if alpha > 0.5:
            y = y + 1
        return y


class BranchOnFlag(nn.Module):
    def forward(self, x, normalize=True):
        x = torch.exp(x)
        return x / x.sum(-1, keepdim=True) if normalize else x


class BranchOnValues(nn.Module):
    """Cannot be traced: the values decide. What it is made of can be."""

    def __init__(self, dim=12):
        super().__init__()
        self.block = nn.Sequential(nn.LayerNorm(dim), nn.GELU(), nn.LayerNorm(dim))
        self.fallback = nn.Linear(dim, dim)

    def forward(self, x):
        h = self.block(x)
        if h.abs().max() > 2.5:
            return h
        return self.fallback(h)


class CallCounter(nn.Module):
    """Python counts the calls, which no graph can tell."""

    def __init__(self, dim=12):
        super().__init__()
        self.calls = 0
        self.block = nn.Sequential(nn.LayerNorm(dim), nn.SiLU())

    def forward(self, x, *, scale=1.0):
        self.calls += 1
        return self.block(x) * scale


class LoopUntilSmall(nn.Module):
    """Cannot be traced, and has nothing inside that could be."""

    def forward(self, x):
        while x.abs().max() > 1:
            x = x / 2
        return x


class ItemInForward(nn.Module):
    def forward(self, x):
        scale = x.abs().max().item()
        return torch.clamp(x / scale, -0.5, 0.5)


class LoopOverTime(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.cell = nn.GRUCell(dim, dim)

    def forward(self, x):
        h = torch.zeros(x.shape[0], x.shape[2], device=x.device)
        outputs = []
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
            outputs.append(h)
        return torch.stack(outputs, 1)


class StateSpaceScan(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(dim))

    def forward(self, x):
        state = torch.zeros_like(x[:, 0])
        states = []
        for step in x.unbind(1):
            state = torch.sigmoid(self.decay) * state + step
            states.append(state)
        return F.silu(torch.stack(states, dim=1)) * x


class ConstantsInForward(nn.Module):
    def forward(self, x):
        mean = torch.tensor([0.485, 0.456, 0.406], device=x.device).view(1, 3, 1, 1)
        std = torch.tensor([0.229, 0.224, 0.225], device=x.device).view(1, 3, 1, 1)
        return torch.tanh((x - mean) / std)


class ArangeMask(nn.Module):
    def forward(self, x, lengths):
        mask = torch.arange(x.shape[1], device=x.device)[None, :] < lengths[:, None]
        return (torch.exp(x) * mask.unsqueeze(-1)).sum(1) / lengths.unsqueeze(-1)


class ScalarTensor(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x * 2, torch.tensor(-1.0)) + torch.ones(1, device=x.device)


class PositionalEncoding(nn.Module):
    def __init__(self, dim=12, length=20):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        term = torch.exp(torch.arange(0, dim, 2) * (-9.2 / dim))
        pe = torch.zeros(1, length, dim)
        pe[0, :, 0::2], pe[0, :, 1::2] = torch.sin(position * term), torch.cos(position * term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return F.relu(x + self.pe[:, : x.size(1)]) * 2


class TensorAttribute(nn.Module):
    """A tensor that is no buffer."""

    def __init__(self):
        super().__init__()
        self.table = torch.linspace(0, 1, 12)

    def forward(self, x):
        return torch.relu(x * self.table) + 1


class AutocastRegion(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            h = self.fc(x)
        return torch.tanh(h.float() * 2) + x


class MixedTypes(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight.to(x.dtype)


class IntegerHash(nn.Module):
    def forward(self, tokens):
        mixed = (tokens * 2654435761) % 1024
        return mixed, (mixed // 3) & 7, tokens > 5, ~(tokens == 2)


class BooleanLogic(nn.Module):
    def forward(self, x, valid):
        inside = (x > -1) & (x < 1) | ~valid
        return inside.any(-1), inside.all(-1), inside.sum(-1)


class EinsumAttention(nn.Module):
    def forward(self, q, k, v):
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * 0.3
        return torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v)


class Bilinear(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, dim, dim))

    def forward(self, a, b):
        return torch.sigmoid(torch.einsum("bi,oij,bj->bo", a, self.weight, b) * 0.5 + 1)


class CrossEntropy(nn.Module):
    def __init__(self, dim=12, classes=7):
        super().__init__()
        self.head = nn.Linear(dim, classes)
        self.loss = nn.CrossEntropyLoss(label_smoothing=0.1)

    def forward(self, x, target):
        return self.loss(self.head(x) / 0.5, target)


class ContrastiveLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, images, texts):
        images, texts = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
        logits = self.logit_scale.exp() * images @ texts.t()
        labels = torch.arange(logits.shape[0], device=logits.device)
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


class FocalLoss(nn.Module):
    def forward(self, logits, targets):
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        p_t = p * targets + (1 - p) * (1 - targets)
        return (0.25 * ce * (1 - p_t) ** 2).mean()


class HuberAndTriplet(nn.Module):
    def forward(self, a, p, n):
        return F.smooth_l1_loss(a, p) + F.triplet_margin_loss(a, p, n) + F.kl_div(a, p.softmax(-1), reduction="sum")


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() < 1)


class BinaryGate(nn.Module):
    def forward(self, x):
        return StraightThrough.apply(x) * torch.tanh(x) * 2


class HelperMethods(nn.Module):
    """`forward` is a list of calls of other methods."""

    def __init__(self, dim=12):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def _encode(self, x):
        return self.norm(x)

    @torch.no_grad()
    def _scale(self, x):
        return x.abs().mean(-1, keepdim=True)

    def forward(self, x):
        return torch.relu(self._encode(x)) * self._scale(x)


class NamedLikeOurs(nn.Module):
    """The names that kernels need are the user's own."""

    def __init__(self, dim=12):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, split_rows, kept_halves):
        return torch.relu(self.fc(split_rows)) * weakref + kept_halves


weakref = 2.0
triton = 3


class TritonIsANumber(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = triton

    def forward(self, x):
        return torch.relu(x) * self.factor + 1


class EmptyBatch(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


class FourierMixing(nn.Module):
    def forward(self, x):
        return torch.relu(torch.fft.fft2(x).real) * 0.1 + x


class SortedTop(nn.Module):
    def forward(self, x):
        values, places = x.sort(dim=-1, descending=True)
        kept = torch.sigmoid(values[..., :5]) * 2
        return kept, places[..., :5], x.gather(-1, places[..., :1]).squeeze(-1)


class SparseProduct(nn.Module):
    def forward(self, edges, x):
        sums = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        degree = torch.bincount(edges[1], minlength=x.shape[0]).clamp(min=1)
        return torch.relu(sums / degree.unsqueeze(1)) * 2


class Identity(nn.Module):
    def forward(self, x):
        return x


class Tail(nn.Module):
    def forward(self, x):
        return self.finish(torch.tanh(x) * 2)


class InheritedForward(Tail):
    """The pass of a class above it, which calls a method of its own."""

    def __init__(self, dim=12):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def finish(self, x):
        return self.norm(x) + x


class SequentialModel(nn.Sequential):
    def __init__(self, dim=12):
        super().__init__(nn.Linear(dim, 8), nn.Sequential(nn.Tanh(), nn.LayerNorm(8)))


INPUTS = {
    "WordsInOutput": lambda: [torch.randn(3, 8)],
    "CountsValues": lambda: [torch.randn(5, 12)],
    "ViewOfSum": lambda: [torch.randn(9, 3), torch.randn(7, 3)],
    "DictOutput": lambda: [torch.randn(10, 12)],
    "DataclassOutput": lambda: [torch.randn(10, 12)],
    "NamedTupleOutput": lambda: [torch.randn(10, 12)],
    "BatchDictionary": lambda: [
        {"features": torch.randn(10, 12), "weight": torch.randn(10), "mask": torch.rand(10, 12) > 0.5}
    ],
    "OptionalArguments": lambda: {
        "x": torch.randn(10, 12),
        "mask": torch.rand(10, 12) > 0.5,
        "bias": torch.randn(12),
    },
    "ManyArguments": lambda: [torch.randn(10, 12), torch.randn(10, 12)],
    "BranchOnNumber": lambda: [torch.randn(10, 12), 0.75],
    "BranchOnFlag": lambda: [torch.randn(10, 12)],
    "BranchOnValues": lambda: [torch.randn(10, 12)],
    "CallCounter": lambda: [torch.randn(10, 12)],
    "LoopUntilSmall": lambda: [torch.randn(10, 12)],
    "ItemInForward": lambda: [torch.randn(10, 12)],
    "LoopOverTime": lambda: [torch.randn(3, 4, 8)],
    "StateSpaceScan": lambda: [torch.randn(3, 4, 8)],
    "ConstantsInForward": lambda: [torch.randn(2, 3, 6, 6)],
    "ArangeMask": lambda: [torch.randn(3, 7, 5), torch.tensor([3, 7, 5])],
    "ScalarTensor": lambda: [torch.randn(10, 12)],
    "PositionalEncoding": lambda: [torch.randn(2, 9, 12)],
    "TensorAttribute": lambda: [torch.randn(10, 12)],
    "AutocastRegion": lambda: [torch.randn(10, 16)],
    "MixedTypes": lambda: [torch.randn(10, 16, dtype=torch.bfloat16)],
    "IntegerHash": lambda: [torch.randint(0, 900, (10, 12))],
    "BooleanLogic": lambda: [torch.randn(10, 12), torch.rand(10, 12) > 0.5],
    "EinsumAttention": lambda: [torch.randn(2, 3, 9, 8), torch.randn(2, 3, 9, 8), torch.randn(2, 3, 9, 8)],
    "Bilinear": lambda: [torch.randn(10, 6), torch.randn(10, 6)],
    "CrossEntropy": lambda: [torch.randn(10, 12), torch.randint(0, 7, (10,))],
    "ContrastiveLoss": lambda: [torch.randn(10, 12), torch.randn(10, 12)],
    "FocalLoss": lambda: [torch.randn(10, 12), (torch.rand(10, 12) > 0.5).float()],
    "HuberAndTriplet": lambda: [torch.randn(10, 12), torch.randn(10, 12), torch.randn(10, 12)],
    "BinaryGate": lambda: [torch.randn(10, 12)],
    "HelperMethods": lambda: [torch.randn(10, 12)],
    "NamedLikeOurs": lambda: [torch.randn(10, 12), torch.randn(10, 12)],
    "TritonIsANumber": lambda: [torch.randn(10, 12)],
    "EmptyBatch": lambda: [torch.randn(0, 12)],
    "FourierMixing": lambda: [torch.randn(2, 6, 8)],
    "SortedTop": lambda: [torch.randn(10, 12)],
    "SparseProduct": lambda: [torch.randint(0, 10, (2, 20)), torch.randn(10, 12)],
    "Identity": lambda: [torch.randn(10, 12)],
    "InheritedForward": lambda: [torch.randn(10, 12)],
    "SequentialModel": lambda: [torch.randn(10, 12)],
}
