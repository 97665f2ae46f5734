"""Tasks for the playbook, as a table: what `forward` does, on which inputs, with which constructor."""

from __future__ import annotations

from textwrap import dedent, indent


def task(forward: str, inputs: str, constructor: str = "", arguments: str = "", extra: str = "") -> str:
    """The text of a task file; `inputs` are assignments, `arguments` the constructor's."""
    names = [line.split("=")[0].strip() for line in inputs.strip().splitlines()]
    parts = [
        "import math",
        "import torch",
        "import torch.nn as nn",
        "import torch.nn.functional as F",
        extra,
        "class Model(nn.Module):",
        indent(dedent(constructor).strip(), "    ") if constructor else "",
        f"    def forward(self, {', '.join(names)}):",
        indent(dedent(forward).strip(), "        "),
        "def get_inputs():",
        indent(dedent(inputs).strip(), "    "),
        f"    return [{', '.join(names)}]",
        f"def get_init_inputs():\n    return [{arguments}]",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def owner(*lines: str, arguments: str = "size") -> str:
    """A constructor with one argument that makes parameters."""
    return "\n".join(
        [f"def __init__(self, {arguments}):", "    super().__init__()", *(f"    {line}" for line in lines)]
    )


FLAT = "x = torch.randn(30, 517)"
PAIR = "a = torch.randn(17, 1000)\nb = torch.randn(17, 1000)"
IMAGE = "x = torch.randn(8, 6, 30, 17)"
LONG = "x = torch.randn(5, 40000)"
HALF = "x = torch.randn(20, 777).half()"
BFLOAT = "x = torch.randn(50, 640, dtype=torch.bfloat16)"
INTEGERS = "a = torch.randint(-9, 9, (50, 60))\nb = torch.randint(-9, 9, (50, 60))"
LAYERNORM = owner("self.norm = nn.LayerNorm(size)")
WEIGHT = owner("self.eps = 1e-6", "self.weight = nn.Parameter(torch.ones(size))")
SMALL_INTEGERS = "a = torch.randint(0, 5, (50, 60))"
BYTES = "a = torch.randint(0, 255, (50, 60), dtype=torch.uint8)"
DOUBLE = "x = torch.randn(60, 70, dtype=torch.float64)"
BIAS = owner("self.bias = nn.Parameter(torch.randn(size))")

_BATCH_NORMS = owner("self.a = nn.BatchNorm2d(size)", "self.b = nn.BatchNorm2d(size, affine=False)", "self.eval()")
ELEMENTWISE = {
    "batch_norm_in_evaluation": task("return F.relu(self.a(x)) + self.b(x)", IMAGE, _BATCH_NORMS, "6"),
    "rectifiers": task(
        "return F.relu(x), F.relu6(x), F.leaky_relu(x, 0.2), F.elu(x, 0.7), F.selu(x), F.celu(x, 1.3)", FLAT
    ),
    "smooth_activations": task(
        "return torch.sigmoid(x), torch.tanh(x), F.gelu(x), F.gelu(x, approximate='tanh'), F.silu(x), F.mish(x)",
        FLAT,
    ),
    "softplus": task("return F.softplus(x), F.softplus(x, beta=2.0), F.logsigmoid(x), F.softsign(x)", FLAT),
    "hard_activations": task(
        "return F.hardswish(x), F.hardsigmoid(x), F.hardtanh(x, -0.3, 0.4), F.hardshrink(x), F.softshrink(x, 0.2)",
        FLAT,
    ),
    "leaky_relu_module": task(
        "return self.act(x)", FLAT, owner("self.act = nn.LeakyReLU(slope)", arguments="slope"), "0.1"
    ),
    "silu_gate": task("return F.silu(a) * b", PAIR),
    "powers": task("return x.pow(2) + torch.pow(x.abs() + 0.1, 1.7) - x**3 + (x * x + 1) ** -0.5, 2**x", FLAT),
    "transcendental": task("return torch.exp(-x * x) + torch.log(x.abs() + 1) * torch.sin(x) - torch.cos(x)", FLAT),
    "roots": task("return torch.sqrt(x.abs()) + torch.rsqrt(x * x + 0.5) + torch.reciprocal(2 + x.abs())", FLAT),
    "erf_square_neg": task("return torch.erf(x) + torch.square(x) - x.neg()", FLAT),
    "scalar_mix": task("return (2 - x * 3.5 + 1) / 4 - 0.25 * torch.add(x, x, alpha=2)", FLAT),
    "clamp_where": task("return torch.where(x > 0.2, x.clamp(max=1.0), torch.clamp(x, -0.5, 0.5))", FLAT),
    "extremes": task("return torch.maximum(a, b) - torch.min(a, b)", PAIR),
    "masked_fill": task(
        "return x.masked_fill(keep == 0, -1.0)", "x = torch.randn(40, 333)\nkeep = torch.randint(0, 2, (40, 333))"
    ),
    "nan_stays": task("return torch.relu(torch.sqrt(x)), torch.sqrt(x).clamp(0.1, 0.9)", FLAT),
    "bias_per_column": task("return torch.relu(x + self.bias)", FLAT, BIAS, "517"),
    "bias_per_channel": task(
        "return torch.tanh(x * self.scale + self.bias.view(1, -1, 1, 1))",
        IMAGE,
        owner("self.scale = nn.Parameter(torch.randn(size, 1, 1))", "self.bias = nn.Parameter(torch.randn(size))"),
        "6",
    ),
    "broadcast_middle": task("return a * b", "a = torch.randn(5, 40, 33)\nb = torch.randn(5, 1, 33)"),
    "outer_sum": task("return a + b", "a = torch.randn(70, 1)\nb = torch.randn(1, 90)"),
    "gate_per_row": task("return x * torch.sigmoid(g)", "x = torch.randn(12, 7, 50)\ng = torch.randn(12, 7, 1)"),
    "scaled_long_rows": task(
        "return torch.diag(v) @ x + b", "v = torch.randn(30)\nx = torch.randn(30, 1541)\nb = torch.randn(1541)"
    ),
    "gated_long_images": task(
        "return x * torch.sigmoid(g)", "x = torch.randn(3, 5, 20, 90)\ng = torch.randn(3, 5, 1, 1)"
    ),
    "expanded": task(
        "return x + g.unsqueeze(1).expand(-1, 7, -1)", "x = torch.randn(9, 7, 50)\ng = torch.randn(9, 50)"
    ),
    "flattened": task("return torch.relu(x + 1).flatten(1)", IMAGE),
    "half": task("return F.gelu(x) * 2", HALF),
    "bfloat": task("return F.silu(x) + self.bias.to(x.dtype)", BFLOAT, BIAS, "640"),
    "double": task(
        "return torch.exp(x) * 0.1 + torch.sqrt(x.abs())", "x = torch.randn(30, 70, dtype=torch.float64)"
    ),
    "integers": task("return a * 3 - b, a / 7 + b", INTEGERS),
    "booleans": task("return (x > 0.5) & (x < 1.5), ~(x >= 0)", FLAT),
    "cast_to_half": task("return (x * 2).to(torch.float16)", FLAT),
    "dropout": task(
        "return self.drop(torch.relu(x))", FLAT, owner("self.drop = nn.Dropout(p)", arguments="p"), "0.3"
    ),
    "in_place": task("y = x * 2\ny.add_(1)\nreturn F.relu(y, inplace=True)", FLAT),
    "dict_output": task("y = x + 1\nreturn {'sum': y, 'pair': [x * 2, x]}", FLAT),
    "one_scalar": task(
        "return x * self.scale", FLAT, owner("self.scale = nn.Parameter(torch.tensor(size))"), "1.5"
    ),
    "scaled_by_root": task("return x / math.sqrt(self.width)", FLAT, owner("self.width = size"), "517"),
    "number_argument": task("return x * s + s", "x = torch.randn(200, 100)\ns = 3.14"),
    "strided_input": task("return x * 2", "x = torch.randn(200, 100).t()"),
    "named_like_ours": task("return mul * 2 + y", "mul = torch.randn(30, 40)\ny = torch.randn(30, 40)"),
    "dropped_input": task("return F.dropout(x, 0.5, False) * 0.1 + x", FLAT),
    "aliases_of_an_input": task(
        "return x.detach() * 2 + x.float().squeeze() - x.type_as(x).reshape(30, 517).contiguous()", FLAT
    ),
    "alias_of_a_parameter": task("return x * self.bias.detach() + self.bias.float()", FLAT, BIAS, "517"),
    "without_gradients": task("with torch.no_grad():\n    y = x * 2\nreturn y + 1", FLAT),
    "expanded_as": task("return g.expand_as(x) * x", "x = torch.randn(60, 130)\ng = torch.randn(60, 1)"),
    "in_place_chain": task("y = x * 2\ny = y.add_(1)\ny = y.mul_(3)\nreturn F.relu(y, inplace=True)", FLAT),
    "in_place_on_a_copy": task("y = x.clone()\ny.add_(1)\nreturn y * x", FLAT),
    "integer_powers": task("return a**5, a**2, torch.floor(a) + torch.round(a), torch.sign(a - 2)", SMALL_INTEGERS),
    "integer_choice": task("return torch.where(a > 2, 1, 0) + 2**40, a * 2**40", SMALL_INTEGERS),
    "bytes_below_zero": task("return a + (-1), a * -3, a - 1, a + 250", BYTES),
    "double_powers": task("return x.abs() ** 1.7, 2**x, torch.where(x > 0, 0.1, x), x.clamp(0.1, 0.7)", DOUBLE),
    "double_on_the_way": task(
        "return x.double() * self.scale", FLAT, owner("self.scale = scale", arguments="scale"), "0.3"
    ),
    "through_half": task("return x.half().float() * 2, x.bfloat16().float()", "x = torch.randn(60, 130) * 1e5"),
    "returns_infinity": task("return x * 2, float('inf')", FLAT),
    "buffer_called_lambda": task(
        "return x * getattr(self, 'lambda')",
        FLAT,
        owner("self.register_buffer('lambda', torch.randn(size))"),
        "517",
    ),
    "parameter_dictionary": task(
        "return x * self.d['0'] + self.d['a-b']",
        FLAT,
        owner("self.d = nn.ParameterDict({'0': torch.randn(size), 'a-b': torch.randn(size)})"),
        "517",
    ),
    "dictionary_input": task(
        "return d['a-b'] * 2 + d['D0']", "d = {'a-b': torch.randn(9, 8), 'D0': torch.randn(9, 8)}"
    ),
    "named_like_pointers": task(
        "return x_ptr * x + mul_add_kernel",
        "\n".join(f"{n} = torch.randn(9, 8)" for n in ("x_ptr", "x", "mul_add_kernel")),
    ),
    "named_like_sizes": task(
        "return a * D1 + D2", "a = torch.randn(4, 5, 6)\nD1 = torch.randn(4, 1, 6)\nD2 = torch.randn(5, 1)"
    ),
    "one_element": task("return F.relu(x) * 2, x.sum(-1), x.softmax(-1)", "x = torch.randn(1)"),
    "upper_and_lower": task("return x * X", "x = torch.randn(4, 5, 6)\nX = torch.randn(4, 1, 6)"),
}

ROWS = {
    "softmax": task("return torch.softmax(x, dim=-1)", FLAT),
    "softmax_4d_short": task("return F.softmax(x, -1)", "x = torch.randn(4, 3, 20, 45)"),
    "softmax_long": task("return F.softmax(x, -1)", LONG),
    "softmax_scaled": task(
        "return F.softmax(x * 0.125 + bias, dim=-1)", "x = torch.randn(6, 4, 50, 50)\nbias = torch.randn(50, 50)"
    ),
    "softmax_half": task("return F.softmax(x, -1)", HALF),
    "log_softmax": task("return F.log_softmax(x, dim=-1)", FLAT),
    "log_softmax_long": task("return F.log_softmax(x, dim=-1)", LONG),
    "logsumexp": task("return torch.logsumexp(x, dim=-1)", FLAT),
    "layernorm": task("return self.norm(x)", "x = torch.randn(2, 19, 768)", LAYERNORM, "768"),
    "layernorm_long": task("return self.norm(x)", LONG, LAYERNORM, "40000"),
    "layernorm_image": task("return self.norm(x)", "x = torch.randn(16, 4, 12, 10)", LAYERNORM, "(4, 12, 10)"),
    "layernorm_plain": task("return F.layer_norm(x, (x.shape[-1],))", FLAT),
    "residual_layernorm": task(
        "h = x + residual\nreturn self.norm(h), h",
        "x = torch.randn(60, 512)\nresidual = torch.randn(60, 512)",
        LAYERNORM,
        "512",
    ),
    "rms_norm_module": task(
        "return self.norm(x)", "x = torch.randn(50, 640)", owner("self.norm = nn.RMSNorm(size)"), "640"
    ),
    "rms_norm_written": task(
        "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight",
        "x = torch.randn(50, 640)",
        WEIGHT,
        "640",
    ),
    "rms_norm_bfloat": task(
        "h = x.float()\nh = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)\n"
        "return h.to(x.dtype) * self.weight.to(x.dtype)",
        BFLOAT,
        WEIGHT,
        "640",
    ),
    "sums_and_means": task(
        "return x.sum(-1), torch.sum(x * x, dim=1, keepdim=True), x.mean(-1), x.sum(-1) / x.shape[-1]", FLAT
    ),
    "extremes_and_places": task(
        "return torch.max(x, dim=-1), x.amin(-1, keepdim=True), torch.argmin(x, dim=-1)", FLAT
    ),
    "spreads": task("return x.var(dim=-1), x.std(dim=-1, unbiased=False, keepdim=True)", FLAT),
    "row_sum_long": task("return x.sum(dim=1)", LONG),
    "row_max_long": task("return x.amax(-1)", LONG),
    "row_max_of_nan": task("return torch.sqrt(x + 3).amax(-1)", FLAT),
    "row_prod": task("return torch.prod(x, dim=-1)", "x = torch.rand(60, 100) + 0.5"),
    "row_count": task("return (x > 0).sum(-1)", FLAT),
    "pooled_image": task("return x.mean(dim=(2, 3))", "x = torch.randn(16, 12, 14, 14)"),
    "flatten_then_sum": task("return torch.relu(x).flatten(1).sum(1)", IMAGE),
    "l2_normalize": task("return F.normalize(x, p=2, dim=-1)", FLAT),
    "norms": task(
        "return x / torch.norm(x, p=2, dim=1, keepdim=True), x.norm(p=1, dim=-1), x.norm(p=math.inf, dim=-1)", FLAT
    ),
    "standardize": task("return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)", FLAT),
    "min_max_scale": task(
        "low = x.amin(-1, keepdim=True)\nreturn (x - low) / (x.amax(-1, keepdim=True) - low)", FLAT
    ),
    "instance_norm_written": task(
        "m = x.mean((2, 3), keepdim=True)\nv = ((x - m) ** 2).mean((2, 3), keepdim=True)\n"
        "return (x - m) / torch.sqrt(v + 1e-5) * self.weight.view(1, -1, 1, 1)",
        IMAGE,
        WEIGHT,
        "6",
    ),
    "entropy": task("p = F.softmax(x, -1)\nreturn -(p * torch.log(p + 1e-9)).sum(-1)", FLAT),
    "entropy_of_logits_long": task("l = F.log_softmax(x / 0.8, -1)\nreturn -(l.exp() * l).sum(-1)", LONG),
    "entropy_of_both_long": task("return (F.softmax(x, -1) * F.log_softmax(x, -1)).sum(-1), x.amax(-1)", LONG),
    "mse_per_row": task("return ((a - b) ** 2).mean(1)", PAIR),
    "cosine_by_hand": task("return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1) + 1e-8)", PAIR),
    "rms_norm_upcast": task(
        "h = x.float()\nh = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)\n"
        "return self.weight * h.type_as(x)",
        "x = torch.randn(50, 640)",
        WEIGHT,
        "640",
    ),
    "masked_pool": task(
        "return (x * m).sum((1, 2))", "x = torch.randn(6, 9, 40)\nm = torch.randint(0, 2, (6, 9, 1)).float()"
    ),
    "softmax_without_gradients": task("with torch.set_grad_enabled(False):\n    return F.softmax(x, -1)", FLAT),
    "logsumexp_of_nothing": task(
        "return torch.logsumexp(x.masked_fill(m, -math.inf), -1)",
        "x = torch.randn(60, 130)\nm = torch.rand(60, 1) > 0.5",
    ),
    "place_of_nan": task("return torch.sqrt(x).argmax(-1), torch.min(torch.sqrt(x + 2), -1)[1]", FLAT),
    "place_of_integers": task("return a.argmax(-1) + 2**40, a.argmin(-1)", SMALL_INTEGERS),
    "named_like_accumulators": task(
        "return x.sum(-1) * sum_1_acc + sum_1_acc", "x = torch.randn(9, 20000)\nsum_1_acc = torch.randn(9)"
    ),
    "logsumexp_long": task(
        "return torch.logsumexp(x.masked_fill(m, -math.inf), -1)",
        "x = torch.randn(3, 40000) - 300\nm = torch.rand(3, 40000) < 0.9999",
    ),
    "places_long": task("return torch.sqrt(x + 4).argmax(-1), torch.min(x, -1)", LONG),
    "spread_long": task("return (x * scale).var(-1)", LONG + "\nscale = torch.rand(5, 1)"),
    "scaled_by_extremes_long": task(
        "low = x.amin(-1, keepdim=True)\nreturn (x - low) / (x.amax(-1, keepdim=True) - low), low", LONG
    ),
    "entropy_long": task("p = F.softmax(x, -1)\nreturn -(p * torch.log(p + 1e-9)).sum(-1)", LONG),
    "one_row": task("return F.softmax(x, 0)", "x = torch.randn(500)"),
    "one_row_long": task("return F.softmax(x * 3, 0)", "x = torch.randn(70001)"),
    "one_row_of_many": task("return F.softmax(x, -1) * w", "x = torch.randn(1, 500)\nw = torch.randn(500)"),
    "variance_of_all": task("return x.var(unbiased=False)", FLAT),
    "extremes_of_all": task("return x.max() - torch.relu(x).min(), x.norm(), x.mean()", IMAGE),
    "loss_of_all": task(
        "return ((p - t) ** 2).mean() * 3", "p = torch.randn(13, 1, 57)\nt = torch.randn(13, 210, 57)"
    ),
    "place_in_all": task("return x.argmax()", FLAT),
    "gelu_then_softmax": task(
        "return F.softmax(F.gelu(x) * mask, dim=-1)", "x = torch.randn(40, 300)\nmask = torch.rand(300)"
    ),
}

CUBE = "x = torch.randn(6, 10, 24)"
_TABLES = "\ncos = torch.randn(10, 16)\nsin = torch.randn(10, 16)"
_TURNED = "def turned(x):\n    a, b = x.chunk(2, -1)\n    return torch.cat((-b, a), -1)\n"
_EMBEDDINGS = owner(
    "self.words, self.places = nn.Embedding(50, size), nn.Embedding(64, size)", "self.norm = nn.LayerNorm(size)"
)
_WORDS = "i = torch.randint(0, 50, (6, 20))"
MOVED = {
    "rotary_halves": task(f"{_TURNED}return q * cos + turned(q) * sin", "q = torch.randn(2, 3, 10, 16)" + _TABLES),
    "rotary_slices": task(
        "d = q.shape[-1] // 2\na, b = q[..., :d], q[..., d:]\n"
        "return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)",
        "q = torch.randn(2, 3, 10, 32)" + _TABLES,
    ),
    "rotary_pairs": task(
        "a, b = q[..., ::2], q[..., 1::2]\n"
        "return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)",
        "q = torch.randn(2, 3, 10, 32)" + _TABLES,
    ),
    "rotary_after_a_norm": task(
        f"{_TURNED}q = self.norm(x)\nreturn q * cos + turned(q) * sin",
        "x = torch.randn(2, 3, 10, 16)" + _TABLES,
        owner("self.norm = nn.RMSNorm(size)"),
        "16",
    ),
    "joined": task(
        "return torch.cat((a, b * 2, c.unsqueeze(1)), 1) + 1",
        "a = torch.randn(6, 20, 5)\nb = torch.randn(6, 7, 5)\nc = torch.randn(6, 5)",
    ),
    "joined_with_a_number": task(
        "return torch.cat((g.expand(4), x), -1) * 2", "g = torch.randn(1)\nx = torch.randn(40)"
    ),
    "joined_in_rows": task(
        "return F.softmax(torch.cat((g.expand(-1, 4), x), -1), -1)",
        "g = torch.randn(30, 1)\nx = torch.randn(30, 40)",
    ),
    "joined_booleans": task("return torch.cat((a > 0, b < 1), 0) & (a > b).repeat(2, 1)", PAIR),
    "padded": task("return F.pad(x, (1, 2, 0, 3), value=0.5) * 2 + F.pad(x, (2, 1, 3, 0), mode='replicate')", CUBE),
    "padded_around": task("return F.pad(x, (2, 1), mode='reflect') - F.pad(x, (1, 2), mode='circular')", CUBE),
    "triangles": task(
        "return torch.tril(x, 1) + torch.triu(x, -2) * torch.eye(x.shape[-1])", "x = torch.randn(6, 20, 20)"
    ),
    "causal_mask": task(
        "t = x.shape[-1]\nkept = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()\n"
        "return F.softmax((x * 0.5).masked_fill(~kept, float('-inf')), -1)",
        "x = torch.randn(6, 20, 20)",
    ),
    "causal_infinities": task(
        "t = x.shape[-1]\nreturn F.softmax(x * 0.5 + torch.full((t, t), float('-inf')).triu(1), -1)",
        "x = torch.randn(6, 20, 20)",
    ),
    "lengths": task(
        "t = torch.arange(x.shape[1], device=x.device)\nreturn x * (t[None, :] < n[:, None])",
        "x = torch.randn(6, 20)\nn = torch.randint(0, 20, (6,))",
    ),
    "classes": task(
        "return F.one_hot(i, 12).float() * w + torch.zeros_like(w)",
        "i = torch.randint(0, 12, (6, 20))\nw = torch.randn(12)",
    ),
    "embeddings": task(
        "t = torch.arange(i.shape[1], device=i.device)\nreturn self.words(i) * 2 + self.places(t)",
        _WORDS,
        _EMBEDDINGS,
        "24",
    ),
    "embeddings_normalized": task(
        "return self.norm(self.words(i) + self.places.weight[: i.shape[1]])", _WORDS, _EMBEDDINGS, "24"
    ),
    "bags": task(
        "return self.sums(i) * 2 + self.means(i)",
        _WORDS,
        owner("self.sums = nn.EmbeddingBag(50, size, mode='sum')", "self.means = nn.EmbeddingBag(50, size)"),
        "24",
    ),
    "places_from_the_end": task(
        "return x[:, j] * 2 + x[:, j - 1]", "x = torch.randn(30, 40, 5)\nj = torch.randint(-30, 30, (7, 3))"
    ),
    "gathered": task(
        "return x.gather(1, j) * 2 + torch.take_along_dim(x, j[:, :1], 1)",
        "x = torch.randn(30, 40)\nj = torch.randint(0, 40, (30, 9))",
    ),
    "selected": task(
        "return torch.index_select(x, 1, j) * 2", "x = torch.randn(30, 40, 5)\nj = torch.randint(0, 30, (9,))"
    ),
    "chosen_from_rows": task(
        "return -F.log_softmax(x, -1).gather(1, t.unsqueeze(1)).squeeze(1)",
        "x = torch.randn(30, 40)\nt = torch.randint(0, 40, x.shape[:1])",
    ),
    "gated_halves": task("a, b = x.chunk(2, -1)\nreturn F.silu(a) * b", CUBE),
    "differences": task("return (x[:, 1:] - x[:, :-1]).abs() * 2", CUBE),
    "pairs": task("return x[..., ::2] * x[..., 1::2] - x[:, -1:, 2:3]", CUBE),
    "picked": task("return x[:, 0] * x[:, -1] + x.select(1, 3)", CUBE),
    "permuted": task(
        "return (x.permute(0, 2, 1, 3) * y).reshape(5, 17, -1)",
        "x = torch.randn(5, 30, 17, 24)\ny = torch.randn(5, 17, 30, 24)",
    ),
    "moved_axes": task(
        "return x.movedim(1, -1) + x.transpose(-1, -2).contiguous() * x.mT", "x = torch.randn(5, 20, 30)"
    ),
    "transposed_by_a_bias": task("return x.t() * 2 + b", "x = torch.randn(30, 57)\nb = torch.randn(30)"),
    "heads_with_the_rest": task(
        "return torch.relu(x.view(x.shape[0], x.shape[1], self.heads, -1)).transpose(1, 2) * y",
        "x = torch.randn(5, 30, 24)\ny = torch.randn(5, 8, 30, 3)",
        owner("self.heads = heads", arguments="heads"),
        "8",
    ),
    "flipped": task("return x.flip(1, -1) * x + x.flip(0)", CUBE),
    "rolled": task("return x.roll(3, -1) - x.roll((-2, 1), (0, 1))", CUBE),
    "repeated": task(
        "return x.repeat(1, 2, 1) * y + x.repeat_interleave(2, 1)",
        "x = torch.randn(30, 5, 24)\ny = torch.randn(30, 10, 24)",
    ),
    "expanded_by_rows": task("return (g * 2).expand(60, 130).sum(-1)", "g = torch.randn(60, 1)"),
    "broadcast_mean": task("return torch.broadcast_to(b, (60, 130)).mean(-1)", "b = torch.randn(130)"),
    "transposed_norm": task("return F.layer_norm(x.transpose(1, 2), (10,)) * 2", CUBE),
    "unbound": task("q, k, v = x.view(6, 10, 3, 8).unbind(2)\nreturn torch.relu(q * k) + v", CUBE),
    "odd_split": task("a, b = x.split([16, 8], -1)\nreturn torch.relu(a[..., 5:13] * b)", CUBE),
    "split_heads": task("return F.softmax(x.view(6, 10, 3, 8), -1)", CUBE),
    "reshaped_anew": task("return torch.relu(x.view(6, 16, 15) + y)", CUBE + "\ny = torch.randn(6, 16, 15)"),
    "diagonal": task("return x[:, :, :10].diagonal(0, 1, 2) * 2 + x[:, :, 0]", CUBE),
    "slice_of_rows": task("return F.layer_norm(x[..., :20], (20,)) * 2", CUBE),
}
"""What index arithmetic does instead of copies."""

DECLINED = {
    "linear": (
        task("return self.fc(x)", FLAT, owner("self.fc = nn.Linear(size, 3)"), "517"),
        "no recipe for products smaller than 64 rows",
    ),
    "matmul": (task("return a @ b.t()", PAIR), "no recipe for products smaller than 64 rows"),
    "conv": (
        task("return self.conv(x)", IMAGE, owner("self.conv = nn.Conv2d(size, 4, 3)"), "6"),
        "no recipe for convolutions of groups, or with few FLOPs",
    ),
    "gru": (
        task("return self.rnn(x)[0]", "x = torch.randn(9, 4, 8)", owner("self.rnn = nn.GRU(size, 16)"), "8"),
        "PyTorch is kept",
    ),
    "branch": (task("return x * 2 if x.sum() > 0 else x - 1", FLAT), "could not be traced"),
    "transposed": (
        task("return x.t() * 2", "x = torch.randn(3000, 517)"),
        "reads x across its rows, 517 elements apart",
    ),
    "copied": (task("return x.t().contiguous()", FLAT), "only copies"),
    "batch_norm_in_training": (
        task("return self.norm(x)", IMAGE, owner("self.norm = nn.BatchNorm2d(size)"), "6"),
        "add --eval or call self.eval() at the end of its __init__",
    ),
    "random": (task("return x + torch.rand_like(x)", FLAT), "no recipe for rand_like;"),
    "boolean_sum": (task("return (x > 0) + (x < -1)", FLAT), "arithmetic on booleans"),
    "boolean_maximum": (task("return (x > 0).amax(-1)", FLAT), "the amax of booleans"),
    "rounded_to_digits": (task("return torch.round(x, decimals=2)", FLAT), "calls round in a way"),
    "autocast": (
        task("with torch.autocast('cpu', dtype=torch.bfloat16):\n    return F.softmax(x, -1)", FLAT),
        "reduces, so its elements are not independent",
    ),
    "expanded_output": (task("return (x * 2).expand(3, 30, 517)", FLAT), "returns a view (expand)"),
    "in_place_under_a_view": (
        task("a = x * 2\nv = a.unsqueeze(0)\na.add_(1)\nreturn v + a", FLAT),
        "a kernel for a single operator",
    ),
    "in_place_on_a_dropped_input": (
        task("y = F.dropout(x, 0.5, False)\ny.mul_(2)\nreturn y - x", FLAT),
        "the task writes into its x",
    ),
    "bits_of_a_float": (task("return x.view(torch.int32) > 1000", FLAT), "no recipe for view;"),
    "integer_tensor_power": (task("return a.abs() ** b.abs()", INTEGERS), "raises integers to a power"),
    "bytes_above_minus_one": (task("return a.clamp(min=-1)", BYTES), "does not hold it"),
    "empty_rows": (task("return x.sum(-1)", "x = torch.randn(60, 0)"), "works on an empty tensor"),
    "sums_of_other_rows": (
        task("return x * x.sum(-1)", "x = torch.randn(70, 70)"),
        "needs the result of one row in others",
    ),
    "singles_around_a_buffer": (
        task(
            "m = self.kept.lerp_(x.mean(0), 0.1); return x - m",
            "x = torch.randn(50, 30)",
            owner("self.register_buffer('kept', torch.zeros(30))"),
            "30",
        ),
        "a kernel for a single operator",
    ),
    "in_place_on_input": (task("return x.mul_(2)", FLAT), "the task writes into its x"),
    "identity": (task("return x", FLAT), "returns its inputs"),
}
