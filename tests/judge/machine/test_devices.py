"""Which device a check uses."""

from __future__ import annotations

import pytest

from tilesmith.errors import UsageError
from tilesmith.judge.machine.devices import choose_device, gpu_present


def test_cpu_is_always_there() -> None:
    assert choose_device("cpu") == "cpu"


def test_auto_takes_the_gpu_when_there_is_one() -> None:
    assert choose_device("auto") == ("cuda" if gpu_present() else "cpu")


@pytest.mark.skipif(gpu_present(), reason="there is a GPU here")
def test_cuda_without_a_gpu_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="--device cpu"):
        choose_device("cuda")


@pytest.mark.parametrize("wanted", ["gpu", "CPU", "", "cuda:1"])
def test_an_unknown_device_names_the_choices(wanted: str) -> None:
    with pytest.raises(UsageError, match="auto, cpu or cuda"):
        choose_device(wanted)
