"""A swapped forward leaves everything else of a module as it was."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from live_kernels import MARK, NORM, marked_card, swap_marked
from sample_package import ModelConfig, TinyModel
from sample_package.layers import RMSNorm
from torch import nn

from tilesmith.errors import UsageError
from tilesmith.live.swaps.kernel_files import build_kernel
from tilesmith.live.swaps.swapping import swap_in

HERE = Path(__file__).parent
X = torch.randn(2, 3, 64, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def model() -> TinyModel:
    torch.manual_seed(0)
    return TinyModel().eval().requires_grad_(False)


def by_kernel(y: torch.Tensor) -> bool:
    return bool(y.mean() > MARK / 2)


def test_a_call_it_was_judged_for_goes_to_the_kernel(model: TinyModel, tmp_path: Path) -> None:
    kernel = swap_marked(model.norm, tmp_path, X)
    assert by_kernel(model.norm(X))
    assert by_kernel(model.norm(hidden=X)), "handed over by name"
    assert kernel.hits == [2]
    assert not by_kernel(model.blocks[0].norm1(X)), "another instance of the class"


def test_undo(model: TinyModel, tmp_path: Path) -> None:
    expected = model.norm(X)
    kernel = swap_marked(model.norm, tmp_path, X)
    kernel.remove()
    assert torch.equal(model.norm(X), expected)
    assert "forward" not in vars(model.norm)


RECURRENT = """
import torch
from torch import nn

class OwnLSTM(nn.LSTM):
    def forward(self, input, hx=None):
        zeros = input.new_zeros(2, input.shape[0], self.hidden_size)
        y, h, c = torch._VF.lstm(input, (zeros, zeros), self._flat_weights, True, 2, 0.0, False, False, True)
        return y + 1000.0, (h, c)

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = OwnLSTM(64, 8, num_layers=2, batch_first=True)

    def forward(self, input):
        return self.module(input, None)
"""


@pytest.mark.parametrize("grad", ["fallback", "recompute"])
def test_a_kernel_that_is_a_recurrent_layer_has_the_live_weights(tmp_path: Path, grad: str) -> None:
    lstm = nn.LSTM(64, 8, num_layers=2, batch_first=True).eval()
    card = replace(marked_card(lstm, tmp_path, X, text=RECURRENT), prefix="module", flat=True)
    with torch.no_grad():
        plain = copy.deepcopy(lstm)
        swap_in(lstm, build_kernel(tmp_path / "best.py"), card, grad)
        assert torch.allclose(lstm(X)[0], plain(X)[0] + MARK)
        lstm.weight_hh_l1 = plain.weight_hh_l1 = nn.Parameter(torch.randn(32, 8))
        assert torch.allclose(lstm(X)[0], plain(X)[0] + MARK), "another parameter"
        state = {name: torch.randn_like(tensor) for name, tensor in plain.state_dict().items()}
        for one in (lstm, plain):
            one.load_state_dict(state, assign=True)
        assert torch.allclose(lstm(X)[0], plain(X)[0] + MARK), "all parameters"
    assert by_kernel(lstm(X)[0]) == (grad == "recompute")


def test_two_kernels_for_two_shapes(model: TinyModel, tmp_path: Path) -> None:
    long = torch.randn(2, 9, 64)
    first = swap_marked(model.norm, tmp_path, X)
    second = swap_marked(model.norm, tmp_path, long, text=NORM.replace("1000.0", "5000.0"))
    assert by_kernel(model.norm(X))
    assert model.norm(long).mean() > 4000
    assert not by_kernel(model.norm(torch.randn(1, 1, 64)))
    second.remove()
    assert by_kernel(model.norm(X))
    assert not by_kernel(model.norm(long))
    first.remove()
    assert not by_kernel(model.norm(X))


def test_a_later_kernel_for_the_same_calls_stands_in_for_the_earlier(model: TinyModel, tmp_path: Path) -> None:
    first = swap_marked(model.norm, tmp_path, X)
    second = swap_marked(model.norm, tmp_path, X, text=NORM.replace("1000.0", "5000.0"))
    assert model.norm(X).mean() > 4000
    model.norm(X[:1])
    assert (sum(first.misses), sum(second.misses)) == (0, 1), "a miss is counted once"
    second.remove()
    assert by_kernel(model.norm(X))


def test_state_dict_has_the_same_names_and_tensors(model: TinyModel, tmp_path: Path) -> None:
    before = {name: tensor.data_ptr() for name, tensor in model.state_dict().items()}
    swap_marked(model.norm, tmp_path, X)
    assert {name: tensor.data_ptr() for name, tensor in model.state_dict().items()} == before


@pytest.mark.parametrize("assign", [False, True], ids=["copied", "assigned"])
def test_the_kernel_sees_new_weights(model: TinyModel, tmp_path: Path, assign: bool) -> None:
    swap_marked(model.norm, tmp_path, X)
    state = {name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()}
    model.load_state_dict(state, assign=assign)
    model.requires_grad_(False)
    assert torch.equal(model.norm(X), torch.full_like(X, MARK))


def test_the_kernel_sees_a_step_of_the_optimizer(model: TinyModel, tmp_path: Path) -> None:
    swap_marked(model.norm, tmp_path, X)
    model.norm.requires_grad_(True)
    model.norm(X).sum().backward()
    torch.optim.SGD(model.norm.parameters(), lr=1.0).step()
    with torch.no_grad():
        expected = RMSNorm.forward(model.norm, X) + MARK
        assert torch.equal(model.norm(X), expected)


def test_a_deep_copy_is_plain_and_has_its_own_weights(model: TinyModel, tmp_path: Path) -> None:
    swap_marked(model.norm, tmp_path, X)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.norm.weight.fill_(0.0)
    assert torch.equal(twin.norm(X), torch.zeros_like(X))
    assert by_kernel(model.norm(X))
    swap_marked(twin.norm, tmp_path, X)
    assert by_kernel(twin.norm(X)), "a copy may have kernels of its own"


def test_pickle_gives_the_plain_original(model: TinyModel, tmp_path: Path) -> None:
    expected = model.norm(X)
    swap_marked(model.norm, tmp_path, X)
    assert torch.equal(pickle.loads(pickle.dumps(model)).norm(X), expected)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False).norm(X), expected)


def test_it_unpickles_where_tilesmith_is_not_installed(model: TinyModel, tmp_path: Path) -> None:
    swap_marked(model.norm, tmp_path, X)
    torch.save({"model": model, "x": X, "y": RMSNorm.forward(model.norm, X)}, tmp_path / "model.pt")
    program = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); sys.modules['tilesmith'] = None; import torch\n"
        f"kept = torch.load({str(tmp_path / 'model.pt')!r}, weights_only=False)\n"
        "assert torch.equal(kept['model'].norm(kept['x']), kept['y'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_hooks_run(model: TinyModel, tmp_path: Path) -> None:
    swap_marked(model.norm, tmp_path, X)
    seen = []
    model.norm.register_forward_pre_hook(lambda module, args: seen.append("before"))
    model.norm.register_forward_hook(lambda module, args, output: output - MARK)
    assert not by_kernel(model.norm(X))
    assert seen == ["before"]


class Wrapped(nn.Module):
    """As DistributedDataParallel does it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: object, **kwargs: object) -> object:
        return self.module(*args, **kwargs)


def test_a_wrapper_calls_it(model: TinyModel, tmp_path: Path) -> None:
    swap_marked(model.norm, tmp_path, X)
    wrapped = Wrapped(model.norm)
    assert by_kernel(wrapped(X))
    assert list(wrapped.state_dict()) == ["module.weight"]


def test_its_signature_is_that_of_the_original(model: TinyModel, tmp_path: Path) -> None:
    expected = inspect.signature(model.norm.forward)
    swap_marked(model.norm, tmp_path, X)
    assert inspect.signature(model.norm.forward) == expected


def test_a_forward_that_somebody_replaced_is_left_alone(model: TinyModel, tmp_path: Path) -> None:
    model.norm.forward = lambda hidden: hidden
    with pytest.raises(UsageError, match="replaced its forward already"):
        swap_marked(model.norm, tmp_path, X)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("self.weight", "self.scale", "has a tensor scale"),
        (
            "        self.weight = ",
            "        self.extra = nn.Parameter(torch.ones(1))\n        self.weight = ",
            "extra",
        ),
        (
            "        self.weight = ",
            "        self.register_buffer('b', torch.ones(1))\n        self.weight = ",
            "has a tensor b",
        ),
    ],
    ids=["other name", "one more", "buffer"],
)
def test_other_tensors_are_refused(model: TinyModel, tmp_path: Path, old: str, new: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        swap_marked(model.norm, tmp_path, X, text=NORM.replace(old, new))
    assert not by_kernel(model.norm(X))


def test_gradients_fall_back(tmp_path: Path) -> None:
    norm = RMSNorm(ModelConfig())
    kernel = swap_marked(norm, tmp_path, X)
    norm(X).sum().backward()
    assert norm.weight.grad is not None
    assert kernel.misses_by_reason() == {"gradients are needed, and the kernel has none": 1}
    with torch.no_grad():
        assert by_kernel(norm(X))


def test_gradients_are_recomputed_if_asked_for(tmp_path: Path) -> None:
    norm, x = RMSNorm(ModelConfig()), X.clone().requires_grad_()
    (norm(x) ** 2).sum().backward()
    expected = [norm.weight.grad, x.grad]
    norm.weight.grad = x.grad = None
    kernel = swap_marked(norm, tmp_path, X, grad="recompute", text=NORM.replace("+ 1000.0", ""))
    y = norm(x)
    (y**2).sum().backward()
    assert kernel.hits == [1]
    torch.testing.assert_close([norm.weight.grad, x.grad], expected)
