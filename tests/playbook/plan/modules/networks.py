"""Convolutional and plain networks: residuals, squeezes, gates, U-Net parts, normalization in both modes."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrizations


class ConvBnRelu(nn.Module):
    """In training mode, as a module is built."""

    def __init__(self, channels=6):
        super().__init__()
        self.conv = nn.Conv2d(4, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class ConvBnReluInference(ConvBnRelu):
    def __init__(self):
        super().__init__()
        self.eval()

    def forward(self, x):
        return self.act(self.bn(self.conv(x))) * 0.5 + 1


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes=4, planes=8, stride=2):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class PooledStem(nn.Module):
    """Windows that overlap and reach over the border: what is cheap is computed at each of their places."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 5, stride=2, padding=2)
        self.relu, self.pool = nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1)

    def forward(self, x):
        return self.pool(self.relu(self.conv(x)))


class GeluBeforePool(PooledStem):
    """What is not cheap is computed once, unless windows lie side by side."""

    def forward(self, x):
        x = F.gelu(self.conv(x)) * 0.5
        return F.max_pool2d(x, 3, 1, 1), F.max_pool2d(F.gelu(self.conv(x[:, :3])), 2)


class SqueezeExcite(nn.Module):
    def __init__(self, channels=8, reduction=2):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(
            nn.Linear(channels, channels // reduction, bias=False),
            nn.ReLU(inplace=True),
            nn.Linear(channels // reduction, channels, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        b, c, _, _ = x.size()
        y = self.avg_pool(x).view(b, c)
        y = self.fc(y).view(b, c, 1, 1)
        return x * y.expand_as(x) + x


class UNetUp(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.up = nn.ConvTranspose2d(channels, channels // 2, 2, stride=2)
        self.conv = nn.Conv2d(channels, channels // 2, 3, padding=1)

    def forward(self, x, skip):
        x = self.up(x)
        dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return torch.sigmoid(F.leaky_relu(self.conv(torch.cat([skip, x], dim=1)), 0.1)) * 2


class UpsampleAndAdd(nn.Module):
    def forward(self, coarse, fine):
        up = F.interpolate(coarse, scale_factor=2, mode="bilinear", align_corners=False)
        return F.relu(up + fine) * 0.5


class ConvNeXtBlock(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1, self.pwconv2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.gamma = nn.Parameter(1e-2 * torch.ones(dim))

    def forward(self, x):
        shortcut = x
        x = self.dwconv(x).permute(0, 2, 3, 1)
        x = self.pwconv2(F.gelu(self.pwconv1(self.norm(x))))
        return shortcut + (self.gamma * x).permute(0, 3, 1, 2)


class ResidualMLP(nn.Module):
    def __init__(self, dim=24, depth=3):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU())] * depth)

    def forward(self, x):
        for layer in self.layers:
            x = x + 0.1 * layer(x)
        return x


class GatedResidual(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.value, self.gate = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        return gate * torch.tanh(self.value(x)) + (1 - gate) * x


class Highway(nn.Sequential):
    """`nn.Sequential` as the model itself."""

    def __init__(self, dim=24):
        super().__init__(nn.Linear(dim, dim), nn.Mish(), nn.LayerNorm(dim), nn.Hardswish())


class GroupNormBlock(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.norm, self.conv = nn.GroupNorm(4, channels), nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x, time_embedding):
        h = self.conv(F.silu(self.norm(x)))
        scale, shift = time_embedding[:, :, None, None].chunk(2, dim=1)
        return x + h * (1 + scale) + shift


class StyleModulation(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.affine, self.norm = nn.Linear(5, 2 * channels), nn.InstanceNorm2d(channels)

    def forward(self, x, style):
        gamma, beta = self.affine(style).unsqueeze(2).unsqueeze(3).chunk(2, 1)
        return self.norm(x) * (gamma + 1) + beta


class DropoutMLP(nn.Module):
    """Random in training mode."""

    def __init__(self, dim=24):
        super().__init__()
        self.fc1, self.drop, self.fc2 = nn.Linear(dim, dim), nn.Dropout(0.2), nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc2(self.drop(F.gelu(self.fc1(x)) * 1.5)) + x


class StochasticDepth(nn.Module):
    """Draws its own numbers whenever it trains."""

    def __init__(self, dim=24, rate=0.3):
        super().__init__()
        self.fc, self.rate = nn.Linear(dim, dim), rate

    def forward(self, x):
        keep = 1 - self.rate
        mask = torch.empty(x.shape[0], 1, device=x.device).bernoulli_(keep).div_(keep)
        return x + torch.tanh(self.fc(x)) * mask


class SpectralLinear(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.fc = parametrizations.weight_norm(nn.Linear(dim, dim))

    def forward(self, x):
        return torch.relu(self.fc(x)) * 2 + x


class TiedAutoencoder(nn.Module):
    def __init__(self, dim=20, code=8):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(code, dim) * 0.1)
        self.b_in, self.b_out = nn.Parameter(torch.zeros(code)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        code = torch.sigmoid(F.linear(x, self.weight, self.b_in))
        return F.linear(code, self.weight.t(), self.b_out), code


class Int8Linear(nn.Module):
    def __init__(self, rows=24, columns=16):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 127, (columns, rows), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(columns) * 0.01)
        self.bias = nn.Parameter(torch.zeros(columns))

    def forward(self, x):
        weight = self.weight.to(x.dtype) * self.scale.unsqueeze(1).to(x.dtype)
        return F.linear(x, weight, self.bias)


class Int4Linear(nn.Module):
    """Two numbers in a byte, a scale for each group."""

    def __init__(self, rows=32, columns=16, group=8):
        super().__init__()
        self.group = group
        self.register_buffer("packed", torch.randint(0, 255, (columns, rows // 2), dtype=torch.uint8))
        self.register_buffer("scales", torch.rand(columns, rows // group) * 0.1)

    def forward(self, x):
        low, high = (self.packed & 0xF).to(torch.int8) - 8, (self.packed >> 4).to(torch.int8) - 8
        codes = torch.stack([low, high], dim=-1).view(self.packed.shape[0], -1, self.group)
        weight = (codes.to(x.dtype) * self.scales.unsqueeze(-1)).view(self.packed.shape[0], -1)
        return x @ weight.t()


class BagOfWords(nn.Module):
    def __init__(self, words=40, dim=12):
        super().__init__()
        self.embedding, self.fc = nn.EmbeddingBag(words, dim, mode="mean"), nn.Linear(dim, 4)

    def forward(self, text, offsets):
        return F.log_softmax(self.fc(self.embedding(text, offsets)) * 2, dim=-1)


class LstmTagger(nn.Module):
    def __init__(self, words=40, dim=12):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(words, dim), nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, 5)

    def forward(self, tokens):
        hidden, _ = self.lstm(self.embedding(tokens))
        return F.log_softmax(self.out(hidden) / 0.7, dim=-1)


INPUTS = {
    "ConvBnRelu": lambda: [torch.randn(2, 4, 9, 9)],
    "ConvBnReluInference": lambda: [torch.randn(2, 4, 9, 9)],
    "BasicBlock": lambda: [torch.randn(2, 4, 8, 8)],
    "PooledStem": lambda: [torch.randn(2, 3, 17, 17)],
    "GeluBeforePool": lambda: [torch.randn(2, 3, 17, 17)],
    "SqueezeExcite": lambda: [torch.randn(2, 8, 7, 7)],
    "UNetUp": lambda: [torch.randn(2, 8, 5, 5), torch.randn(2, 4, 11, 11)],
    "UpsampleAndAdd": lambda: [torch.randn(2, 4, 5, 5), torch.randn(2, 4, 10, 10)],
    "ConvNeXtBlock": lambda: [torch.randn(2, 8, 9, 9)],
    "ResidualMLP": lambda: [torch.randn(10, 24)],
    "GatedResidual": lambda: [torch.randn(10, 24)],
    "Highway": lambda: [torch.randn(10, 24)],
    "GroupNormBlock": lambda: [torch.randn(2, 8, 6, 6), torch.randn(2, 16)],
    "StyleModulation": lambda: [torch.randn(2, 6, 5, 5), torch.randn(2, 5)],
    "DropoutMLP": lambda: [torch.randn(10, 24)],
    "StochasticDepth": lambda: [torch.randn(10, 24)],
    "SpectralLinear": lambda: [torch.randn(10, 16)],
    "TiedAutoencoder": lambda: [torch.randn(10, 20)],
    "Int8Linear": lambda: [torch.randn(10, 24)],
    "Int4Linear": lambda: [torch.randn(10, 32)],
    "BagOfWords": lambda: [torch.randint(0, 40, (11,)), torch.tensor([0, 4, 7])],
    "LstmTagger": lambda: [torch.randint(0, 40, (3, 7))],
}
