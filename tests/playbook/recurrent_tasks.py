"""Tasks with one recurrent layer, as tables."""

from __future__ import annotations

from itertools import product

from playbook_tasks import owner, task

GRU, LSTM = "nn.GRU(width, hidden)", "nn.LSTM(width, hidden)"
CELLS = {
    "gru": "nn.GRU(width, hidden{options})",
    "lstm": "nn.LSTM(width, hidden{options})",
    "rnn_tanh": "nn.RNN(width, hidden{options})",
    "rnn_relu": "nn.RNN(width, hidden{options}, nonlinearity='relu')",
}
X = "x = torch.randn(time, batch, width)"
X_BATCH_FIRST = "x = torch.randn(batch, time, width)"
LONE_X = "x = torch.randn(time, width)"
CONSTRUCTOR = "width, hidden"


def recurrent(
    forward: str,
    *extra_modules: str,
    layer: str = GRU,
    inputs: str = X,
    sizes: tuple[int, int, int, int] = (3, 2, 5, 7),
    extra: str = "",
) -> str:
    """A task with `layer` as `self.rnn`; `sizes` are time, batch, input size and hidden size."""
    constants = [f"{name} = {size}" for name, size in zip(("time", "batch", "width", "hidden"), sizes, strict=True)]
    constructor = owner(f"self.rnn = {layer}", *extra_modules, arguments=CONSTRUCTOR)
    return task(forward, inputs, constructor, CONSTRUCTOR, "\n".join([*constants, extra]))


def states(count: int, *names: str, dtype: str = "") -> str:
    """Inputs that are given as the state before the first step."""
    return "".join(f"\n{name} = torch.randn({count}, batch, hidden){dtype}" for name in names)


def cell_task(cell: str, layers: int, is_both: bool, has_state: bool, sizes: tuple[int, int, int, int]) -> str:
    """One of the four cells, `layers` deep, in one direction or in both, from zeros or from a given state."""
    options = f", {layers}, bidirectional={is_both}"
    names = (["h0", "c0"] if cell == "lstm" else ["h0"]) if has_state else []
    state = ", (h0, c0)" if len(names) == 2 else "".join(f", {name}" for name in names)
    return recurrent(
        f"y, last = self.rnn(x{state})\nreturn y",
        layer=CELLS[cell].format(options=options),
        inputs=X + states(layers * (2 if is_both else 1), *names),
        sizes=sizes,
    )


def _cells() -> dict[str, str]:
    """Every cell with one and with three layers, in one direction and in both; half of them from a given state."""
    sizes = {("gru", 1, False): (5, 3, 7, 17), ("gru", 3, False): (4, 9, 5, 33), ("lstm", 1, False): (4, 2, 9, 40)}
    return {
        f"{cell}_{layers}{'_both_directions' if is_both else ''}": cell_task(
            cell, layers, is_both, (layers == 3) != is_both, sizes.get((cell, layers, is_both), (3, 2, 5, 7))
        )
        for cell, layers, is_both in product(CELLS, (1, 3), (False, True))
    }


TASKS = _cells() | {
    # how the layer is made
    "without_bias": recurrent("return self.rnn(x)[0]", layer="nn.GRU(width, hidden, 2, bias=False)"),
    "dropout_between_layers": recurrent("return self.rnn(x)[0]", layer="nn.LSTM(width, hidden, 2, dropout=0.3)"),
    "in_a_submodule": recurrent(
        "return self.rnn(x)",
        layer="Encoder(width, hidden)",
        extra=(
            "class Encoder(nn.Module):\n"
            "    def __init__(self, width, hidden):\n"
            "        super().__init__()\n"
            "        self.cells = nn.GRU(width, hidden, num_layers=2)\n"
            "    def forward(self, x):\n"
            "        return self.cells(x)[0]\n"
        ),
    ),
    "imported_by_name": recurrent(
        "return self.rnn(x)[0]", layer="GRU(width, hidden)", extra="from torch.nn import GRU"
    ),
    "strided_weight": recurrent(
        "return self.rnn(x)[0]",
        "self.rnn.weight_hh_l0 = nn.Parameter(torch.randn(hidden, hidden).t())",
        layer="nn.RNN(width, hidden)",
    ),
    # what it is given
    "batch_first": recurrent(
        "y, h = self.rnn(x)\nreturn y, h", layer="nn.GRU(width, hidden, 2, batch_first=True)", inputs=X_BATCH_FIRST
    ),
    "batch_first_both_directions": recurrent(
        "y, h = self.rnn(x, h0)\nreturn y, h",
        layer="nn.GRU(width, hidden, 2, batch_first=True, bidirectional=True)",
        inputs=X_BATCH_FIRST + states(4, "h0"),
    ),
    "zeros_as_state": recurrent(
        "h0 = torch.zeros(2, x.shape[1], 7)\nreturn self.rnn(x, h0)[0]", layer="nn.GRU(width, hidden, 2)"
    ),
    "zeros_as_one_of_two_states": recurrent(
        "return self.rnn(x, (torch.zeros(1, x.shape[1], 7, device=x.device), c0))[0]",
        layer=LSTM,
        inputs=X + states(1, "c0"),
    ),
    "zeros_of_a_named_type": recurrent(
        "h0 = torch.zeros(2, x.shape[1], 7, dtype=x.dtype)\nreturn self.rnn(x, h0)[0]",
        layer="nn.GRU(width, hidden, 2)",
    ),
    "zeros_that_are_filled": recurrent(
        "h0 = torch.zeros(1, x.shape[1], 7, dtype=x.dtype)\nh0 += 0.5\nreturn self.rnn(x, h0)[0]"
    ),
    "by_keyword": recurrent("return self.rnn(input=x, hx=h0)[0]", inputs=X + states(1, "h0")),
    "learned_state": recurrent(
        "return self.rnn(x, self.h0.expand(-1, x.shape[1], -1))[0]",
        "self.h0 = nn.Parameter(torch.randn(1, 1, hidden))",
    ),
    "strided_state": recurrent(
        "return self.rnn(x, h0.transpose(0, 1))[0]",
        layer="nn.GRU(width, hidden, 2)",
        inputs=f"{X}\nh0 = torch.randn(batch, 2, hidden)",
    ),
    "one_sequence": recurrent("y, h = self.rnn(x)\nreturn y, h", layer="nn.GRU(width, hidden, 2)", inputs=LONE_X),
    "one_sequence_from_a_state": recurrent(
        "y, (h, c) = self.rnn(x, (h0, c0))\nreturn y, h, c",
        layer="nn.LSTM(width, hidden, 2, batch_first=True)",
        inputs=f"{LONE_X}\nh0 = torch.randn(2, hidden)\nc0 = torch.randn(2, hidden)",
    ),
    "one_sequence_last_step": recurrent("return self.rnn(x)[0][-1]", inputs=LONE_X),
    "strided_input": recurrent(
        "return self.rnn(x)[0]",
        layer="nn.GRU(width, hidden, 2)",
        inputs="x = torch.randn(width, batch, time).transpose(0, 2)",
    ),
    "half": recurrent(
        "return self.rnn(x, h0)[0]",
        layer="nn.GRU(width, hidden, 2).half()",
        inputs=f"x = torch.randn(time, batch, width).half(){states(2, 'h0', dtype='.half()')}",
    ),
    "half_both_directions": recurrent(
        "y, (h, c) = self.rnn(x)\nreturn y, c",
        layer="nn.LSTM(width, hidden, bidirectional=True).half()",
        inputs="x = torch.randn(time, batch, width).half()",
    ),
    "bfloat": recurrent(
        "return self.rnn(x, h0)[0]",
        layer="nn.RNN(width, hidden, 2).bfloat16()",
        inputs=f"x = torch.randn(time, batch, width).bfloat16(){states(2, 'h0', dtype='.bfloat16()')}",
    ),
    "bfloat_both_directions": recurrent(
        "return self.rnn(x)[0]",
        layer="nn.GRU(width, hidden, 2, bidirectional=True).bfloat16()",
        inputs="x = torch.randn(time, batch, width).bfloat16()",
    ),
    # what is taken of its results
    "only_the_last_state": recurrent("_, h = self.rnn(x)\nreturn h", layer="nn.GRU(width, hidden, 2)"),
    "only_the_cell_state": recurrent("_, (h, c) = self.rnn(x)\nreturn c", layer="nn.LSTM(width, hidden, 2)"),
    "state_as_a_tuple": recurrent("y, state = self.rnn(x)\nreturn y, state", layer="nn.LSTM(width, hidden, 2)"),
    "output_and_state": recurrent("return self.rnn(x)", layer="nn.RNN(width, hidden, 2)"),
    "last_step": recurrent("y, _ = self.rnn(x)\nreturn y[-1]", layer="nn.GRU(width, hidden, 2)"),
    "last_step_both_directions": recurrent(
        "y, _ = self.rnn(x)\nreturn y[-1]", layer="nn.GRU(width, hidden, bidirectional=True)"
    ),
    "last_step_into_a_linear": recurrent(
        "y, _ = self.rnn(x)\nreturn self.head(y[:, -1])",
        "self.head = nn.Linear(hidden, 60)",
        layer="nn.LSTM(width, hidden, 2, batch_first=True)",
        inputs=X_BATCH_FIRST,
    ),
    "last_step_spelled_out": recurrent(
        "y, _ = self.rnn(x)\nreturn y[:, -1, :]",
        layer="nn.GRU(width, hidden, batch_first=True)",
        inputs=X_BATCH_FIRST,
    ),
    "last_step_and_state": recurrent("y, h = self.rnn(x)\nreturn y[-1] * 2, h", layer=GRU),
    "between_two_linears": recurrent(
        "y, h = self.rnn(torch.relu(self.before(x)))\nreturn self.after(y) + h.mean()",
        "self.before = nn.Linear(width, width)",
        "self.after = nn.Linear(hidden, width)",
        layer="nn.GRU(width, hidden, 2)",
    ),
    "one_result_unused_but_touched": recurrent(
        "y, (h, c) = self.rnn(x)\nh, c = h.detach(), c.detach()\nreturn y", layer=LSTM
    ),
    "only_the_shape_of_the_output": recurrent("y, h = self.rnn(x)\nreturn h * y.shape[0]"),
    "last_step_changed_in_place": recurrent("y, h = self.rnn(x)\nlast = y[-1]\nlast += 1\nreturn last, h"),
    "state_changed_in_place": recurrent("y, h = self.rnn(x)\nh *= 2\nreturn y[-1] + 1, h"),
    # sizes
    "one_step": recurrent(
        "return self.rnn(x, h0)[0]",
        layer="nn.GRU(width, hidden, 3)",
        inputs=X + states(3, "h0"),
        sizes=(1, 2, 5, 7),
    ),
    "one_step_both_directions": recurrent(
        "return self.rnn(x)", layer="nn.GRU(width, hidden, bidirectional=True)", sizes=(1, 2, 5, 7)
    ),
    "hidden_of_16": recurrent("return self.rnn(x)[0]", layer="nn.GRU(width, hidden, 2)", sizes=(3, 2, 16, 16)),
    "tiny": recurrent("return self.rnn(x)[0]", layer="nn.LSTM(width, hidden, 2)", sizes=(3, 1, 1, 5)),
    "wide_input": recurrent("return self.rnn(x)[0]", layer="nn.GRU(width, hidden, 2)", sizes=(3, 2, 71, 7)),
    "two_groups_of_sequences": recurrent(
        "return self.rnn(x, h0)[0]",
        layer="nn.GRU(width, hidden, 2)",
        inputs=X + states(2, "h0"),
        sizes=(3, 18, 7, 20),
    ),
    "two_groups_strided_wide_without_bias_both_directions": recurrent(
        "return self.rnn(x)[0]",
        layer="nn.RNN(width, hidden, bidirectional=True, bias=False)",
        inputs="x = torch.randn(width, batch, time).transpose(0, 2)",
        sizes=(3, 18, 71, 20),
    ),
}
"""Each is matched, and its kernels are right."""

PACKED = recurrent(
    "packed = nn.utils.rnn.pack_padded_sequence(x, [time] * batch)\n"
    "return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0])[0]"
)
"""Sequences of several lengths, one after the other in memory."""
DECLINED = {
    "projected": (recurrent("return self.rnn(x)[0]", layer="nn.LSTM(width, hidden, proj_size=5)"), "proj_size"),
    "double": (
        recurrent(
            "return self.rnn(x)[0]",
            layer="nn.GRU(width, hidden).double()",
            inputs="x = torch.randn(time, batch, width).double()",
        ),
        "float64",
    ),
    "two_layers": (
        recurrent("return self.second(self.rnn(x)[0])[0]", "self.second = nn.GRU(hidden, hidden)"),
        "calls 2 recurrent layers",
    ),
    "called_twice": (
        recurrent("return self.rnn(self.rnn(x)[0])[0]", layer="nn.GRU(width, width)"),
        "calls 2 recurrent layers",
    ),
    "computed_weights": (
        recurrent(
            "return self.rnn(x)[0]",
            layer="torch.nn.utils.parametrizations.weight_norm(nn.GRU(width, hidden), 'weight_hh_l0')",
        ),
        "computes the weights",
    ),
    "too_large": (
        recurrent("return self.rnn(x)[0]", sizes=(2, 1, 4, 4096)),
        "4096 hidden units",
    ),
    "named_like_ours": (
        recurrent("return sigmoid(self.rnn(x)[0])", extra="def sigmoid(x):\n    return 1 / (1 + torch.exp(-x))\n"),
        "called sigmoid",
    ),
    "made_by_name": (recurrent("return self.rnn(x)[0]", layer="getattr(nn, 'GRU')(width, hidden)"), "in 0 places"),
    "cell_in_a_loop": (
        recurrent(
            "h = torch.zeros(x.shape[1], 7)\nfor step in x:\n    h = self.rnn(step, h)\nreturn h",
            layer="nn.GRUCell(width, hidden)",
        ),
        "gru_cell",
    ),
}
"""Task, and what the reason must say."""
