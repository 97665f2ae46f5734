import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, image_size, patch_size, num_classes, dim, depth, heads, mlp_dim, channels=3):
        super().__init__()
        assert image_size % patch_size == 0
        num_patches = (image_size // patch_size) ** 2
        self.patch_size = patch_size
        self.position = nn.Parameter(torch.randn(1, num_patches + 1, dim))
        self.embed = nn.Linear(channels * patch_size**2, dim)
        self.token = nn.Parameter(torch.randn(1, 1, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, mlp_dim, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x):
        p = self.patch_size
        x = x.unfold(2, p, p).unfold(3, p, p).reshape(x.shape[0], -1, p * p * x.shape[1])
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), self.embed(x)), dim=1) + self.position
        return self.head(self.transformer(x)[:, 0])


image_size = 224
patch_size = 16
num_classes = 10
dim = 512
depth = 6
heads = 8
mlp_dim = 2048
channels = 3


def get_inputs():
    return [torch.rand(2, channels, image_size, image_size)]


def get_init_inputs():
    return [image_size, patch_size, num_classes, dim, depth, heads, mlp_dim, channels]
