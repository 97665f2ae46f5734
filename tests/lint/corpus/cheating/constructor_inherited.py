# kernel_type: gemm
# complexity: medium
# outcome: works
# near: reference-imported, torch-does-the-work, no-model-class
"""The reference lends its constructor, so that the state_dict keys agree; its forward is never used."""

import importlib

import torch
import torch.nn as nn

import triton
import triton.language as tl
from torch.nn import Linear as Model_

math = importlib.import_module("math")


class Model(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.fc = Model_(features, classes)

    def forward(self, x):
        return torch.sigmoid(self.fc(x) / math.sqrt(1.0))


@triton.jit
def linear_sigmoid(x, w, b, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for s in range(0, K, BK):
        k = s + tl.arange(0, BK)
        u = tl.load(x + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        v = tl.load(w + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K), other=0.0)
        acc = tl.dot(u, v, acc, input_precision="ieee")
    acc += tl.load(b + n, mask=n < N, other=0.0)[None, :]
    tl.store(y + m[:, None] * N + n[None, :], tl.sigmoid(acc), mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(Model):
    def __init__(self, features, classes):
        super().__init__(features, classes)

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.fc.out_features
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
        linear_sigmoid[grid](x, self.fc.weight, self.fc.bias, y, M, N, K, BM=32, BN=32, BK=32)
        return y


def reference(x):
    return Model(x.shape[-1], 10)(x)


def get_init_inputs():
    return [40, 10]


def get_inputs():
    return [torch.randn(7, 40)]
