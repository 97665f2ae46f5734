"""Modules that compute with the sizes of their inputs, as people write them, each at three shapes."""

from __future__ import annotations

from dataclasses import dataclass

from playbook_tasks import owner, task

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class SizedTask:
    names: str
    """Of its sizes, as they are assigned: `B, T, C`."""
    own: Sizes
    others: tuple[Sizes, Sizes]
    forward: str
    inputs: str
    constructor: str = ""
    arguments: str = ""

    def at(self, sizes: Sizes) -> str:
        """The text of the task at a shape."""
        assigned = f"{self.names} = {', '.join(map(str, sizes))}"
        return task(self.forward, self.inputs, self.constructor, self.arguments, assigned)


SIZED = {
    "groups_of_packed_weights": SizedTask(
        "N, K, G", (20, 64, 16), ((5, 96, 32), (7, 24, 8)),
        """
        g = torch.arange(packed.shape[1]) // (self.group // 2)
        low, high = (packed & 15).float() - zeros[:, g], (packed >> 4).float() - zeros[:, g]
        return torch.stack([low * scales[:, g], high * scales[:, g]], -1).flatten(1) * 2
        """,
        "packed = torch.randint(0, 256, (N, K // 2), dtype=torch.uint8)\n"
        "zeros = torch.rand(N, K // G)\nscales = torch.rand(N, K // G)",
        owner("self.group = size"),
        "G",
    ),
    "windows": SizedTask(
        "B, T, W", (3, 29, 8), ((2, 17, 4), (5, 40, 10)),
        """
        frames = torch.tanh(x.unfold(1, self.window, 3)) * 2
        columns = torch.tanh(F.unfold(image, (3, 2), padding=(1, 0), stride=(2, 1)))
        return frames, columns.sum(1)
        """,
        "x = torch.randn(B, T)\nimage = torch.randn(B, 2, T, W)",
        owner("self.window = size"),
        "W",
    ),
    "grids": SizedTask(
        "B, H, W", (3, 9, 14), ((2, 5, 8), (1, 13, 6)),
        """
        i, j = torch.meshgrid(torch.arange(x.shape[1]), torch.arange(x.shape[2]), indexing="ij")
        rows = (i - 4) // 3 + (j - 7) % 5
        return x * rows + torch.remainder(x, 0.7) - torch.div(x, 0.3, rounding_mode="floor")
        """,
        "x = torch.randn(B, H, W) * 4",
    ),
    "attention_scores": SizedTask(
        "B, T, D", (4, 24, 64), ((2, 20, 48), (3, 40, 16)),
        """
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        return F.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1)
        """,
        "q = torch.randn(B, T, D)\nk = torch.randn(B, T, D)\nmask = torch.tril(torch.ones(T, T))",
    ),
    "root_of_a_tensor": SizedTask(
        "B, T, D", (4, 24, 64), ((2, 20, 48), (3, 40, 16)),
        """
        scores = torch.matmul(q, k.transpose(-2, -1)) / torch.sqrt(torch.tensor(q.size(-1), dtype=torch.float32))
        return torch.softmax(torch.tanh(scores) * 2, dim=-1)
        """,
        "q = torch.randn(B, T, D)\nk = torch.randn(B, T, D)",
    ),
    "halves_of_any_size": SizedTask(
        "N, D", (20, 29), ((5, 22), (7, 33)),
        """
        a, b = x.chunk(2, dim=-1)
        return x * y + torch.cat((-b, a), dim=-1) * 2
        """,
        "x = torch.randn(N, D)\ny = torch.randn(N, D)",
    ),
    "moments_by_hand": SizedTask(
        "N, C", (48, 72), ((5, 33), (20, 100)),
        """
        mean = x.sum(-1, keepdim=True) / x.shape[-1]
        spread = ((x - mean) ** 2).sum(-1, keepdim=True) / (x.shape[-1] - 1)
        return (x - mean) / torch.sqrt(spread + 1e-5)
        """,
        "x = torch.randn(N, C)",
    ),
    "moments_of_planes": SizedTask(
        "B, C, H, W", (4, 6, 12, 10), ((2, 5, 9, 7), (3, 8, 6, 16)),
        """
        b, c, h, w = x.shape
        n = h * w - 1
        d = (x - x.mean(dim=[2, 3], keepdim=True)).pow(2)
        return x * torch.sigmoid(d / (4 * (d.sum(dim=[2, 3], keepdim=True) / n + 1e-4)) + 0.5)
        """,
        "x = torch.randn(B, C, H, W)",
    ),
    "positions": SizedTask(
        "B, T", (6, 40), ((3, 17), (2, 90)),
        "return self.norm(self.tokens(i) + self.places(torch.arange(i.shape[1], device=i.device)))",
        "i = torch.randint(0, 300, (B, T))",
        owner("self.tokens = nn.Embedding(300, size)", "self.places = nn.Embedding(96, size)",
              "self.norm = nn.LayerNorm(size)"),
        "32",
    ),
    "causal_softmax": SizedTask(
        "B, T", (6, 40), ((3, 17), (2, 64)),
        """
        T = x.shape[-1]
        mask = torch.tril(torch.ones(T, T, device=x.device))
        return F.softmax((x / math.sqrt(T)).masked_fill(mask == 0, float("-inf")), dim=-1)
        """,
        "x = torch.randn(B, T, T)",
    ),
    "rotary": SizedTask(
        "B, H, T, D", (2, 3, 40, 32), ((1, 2, 17, 16), (3, 5, 24, 48)),
        """
        B, H, T, D = x.shape
        steps = 1.0 / (10000 ** (torch.arange(0, D, 2, device=x.device).float() / D))
        angles = torch.outer(torch.arange(T, device=x.device).float(), steps)
        angles = torch.cat((angles, angles), dim=-1)
        a, b = x[..., : D // 2], x[..., D // 2 :]
        return x * angles.cos() + torch.cat((-b, a), dim=-1) * angles.sin()
        """,
        "x = torch.randn(B, H, T, D)",
    ),
    "sinusoids": SizedTask(
        "B, T, C", (4, 24, 40), ((3, 17, 16), (2, 9, 64)),
        """
        B, T, C = x.shape
        half = C // 2
        steps = torch.exp(-math.log(10000.0) * torch.arange(half, device=x.device, dtype=torch.float32) / half)
        angles = torch.arange(T, device=x.device, dtype=torch.float32)[:, None] * steps[None]
        return x * math.sqrt(C) + torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)
        """,
        "x = torch.randn(B, T, C)",
    ),
    "label_smoothing": SizedTask(
        "N, C", (40, 90), ((7, 30), (20, 128)),
        """
        n = x.size(-1)
        hit = F.one_hot(t, n).to(x.dtype)
        wanted = hit * (1.0 - self.smoothing) + (1 - hit) * (self.smoothing / (n - 1))
        return torch.sum(-wanted * F.log_softmax(x, dim=-1), dim=-1)
        """,
        "x = torch.randn(N, C)\nt = torch.randint(0, C, (N,))",
        owner("self.smoothing = size"),
        "0.1",
    ),
    "loss_of_a_batch": SizedTask(
        "N, C", (40, 90), ((7, 30), (20, 128)),
        "return ((x - t) ** 2).sum() / x.size(0)",
        "x = torch.randn(N, C)\nt = torch.randn(N, C)",
    ),
    "entropy": SizedTask(
        "N, C", (40, 90), ((7, 30), (20, 128)),
        """
        p = F.softmax(x, dim=-1)
        return -(p * torch.log(p + 1e-8)).sum(-1) / math.log(x.size(-1))
        """,
        "x = torch.randn(N, C)",
    ),
    "heads": SizedTask(
        "B, T, C", (4, 24, 64), ((3, 17, 32), (2, 9, 96)),
        """
        B, T, C = x.size()
        q = x.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        q = F.normalize(q, dim=-1) * (1.0 / math.sqrt(q.size(-1)))
        return q.transpose(1, 2).contiguous().view(B, T, C) + x
        """,
        "x = torch.randn(B, T, C)",
        owner("self.heads = size"),
        "4",
    ),
    "attention": SizedTask(
        "B, T, C", (2, 24, 64), ((3, 17, 32), (2, 9, 96)),
        """
        B, T, C = x.size()
        q, k, v = self.all(x).split(C, dim=2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = F.softmax(scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf")), dim=-1)
        return self.last((scores @ v).transpose(1, 2).contiguous().view(B, T, C))
        """,
        "x = torch.randn(B, T, C)",
        owner("self.heads = 4", "self.all = nn.Linear(size, 3 * size)", "self.last = nn.Linear(size, size)",
              "self.register_buffer('mask', torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))"),
        "C",
    ),
    "padded": SizedTask(
        "B, T, C", (4, 50, 24), ((3, 16, 32), (2, 33, 7)),
        """
        missing = (self.window - x.shape[1] % self.window) % self.window
        x = F.pad(x, (0, 0, 0, missing))
        return torch.tanh(x) * torch.sigmoid(x) + 0.5
        """,
        "x = torch.randn(B, T, C)",
        owner("self.window = size"),
        "16",
    ),
    "gated_half": SizedTask(
        "B, T, C", (4, 24, 64), ((3, 17, 32), (2, 9, 90)),
        """
        half = x.shape[-1] // 2
        return x[..., :half] * torch.sigmoid(x[..., half:]) / half ** 0.5
        """,
        "x = torch.randn(B, T, C)",
    ),
    "shifted": SizedTask(
        "B, T, C", (4, 24, 40), ((3, 17, 16), (2, 9, 64)),
        """
        B, T, C = x.shape
        first = torch.full((B, 1, C), 0.5, device=x.device)
        return torch.sigmoid(torch.cat([first, x[:, : T - 1]], dim=1)) * x * (1.0 / T)
        """,
        "x = torch.randn(B, T, C)",
    ),
    "chunks": SizedTask(
        "B, T, C", (4, 24, 40), ((3, 16, 16), (2, 8, 64)),
        """
        B, T, C = x.shape
        y = x.view(B, T // 4, 4, C)
        return (y - y.mean(2, keepdim=True)).view(B, T, C) / (T // 4)
        """,
        "x = torch.randn(B, T, C)",
    ),
    "places": SizedTask(
        "B, T, C", (4, 24, 40), ((3, 18, 16), (2, 10, 64)),
        """
        half = x.shape[1] // 2
        y = torch.roll(x, half, 1)[:, -half:] * x[:, :half]
        return torch.tanh(y) + x[:, half, None] + x[:, x.shape[1] - 1, None]
        """,
        "x = torch.randn(B, T, C)",
    ),
    "tokens_and_one_more": SizedTask(
        "B, T, C", (4, 24, 40), ((3, 18, 16), (2, 10, 64)),
        """
        B, T, C = x.shape
        x = torch.cat([self.first.expand(B, -1, -1), x], 1) + self.places[:, : T + 1]
        return F.layer_norm(x, (C,))
        """,
        "x = torch.randn(B, T, C)",
        owner("self.first = nn.Parameter(torch.randn(1, 1, size))",
              "self.places = nn.Parameter(torch.randn(1, 65, size))"),
        "C",
    ),
    "relative_places": SizedTask(
        "B, T", (6, 24), ((3, 17), (2, 30)),
        """
        T = x.shape[-1]
        place = torch.arange(T, device=x.device)
        return x + self.table[place[None, :] - place[:, None] + T - 1] * 2
        """,
        "x = torch.randn(B, T, T)",
        owner("self.table = nn.Parameter(torch.randn(size))"),
        "64",
    ),
    "channel_gate": SizedTask(
        "B, C, H, W", (4, 16, 12, 10), ((2, 8, 9, 7), (3, 24, 6, 16)),
        """
        b, c, h, w = x.size()
        y = x.view(b, c, -1).sum(-1) / (h * w)
        y = torch.sigmoid(self.up(F.relu(self.down(y)))).view(b, c, 1, 1)
        return x * y.expand(b, c, h, w)
        """,
        "x = torch.randn(B, C, H, W)",
        owner("self.down = nn.Linear(size, size // 4)", "self.up = nn.Linear(size // 4, size)"),
        "C",
    ),
}  # fmt: skip
