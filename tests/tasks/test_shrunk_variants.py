"""Plans as text: what they change and what they leave alone."""

from __future__ import annotations

from pathlib import Path

from tilesmith.tasks.shrunk_variants import make_halvings, make_odd_subset, make_odd_variants, make_shrunk_variants
from tilesmith.tasks.source import parse_task

TEXT = """
import torch, torch.nn as nn
class Model(nn.Module): pass
batch_size = 128
channels = 512
height = width = 224
kernel_size = 7
groups = 32
num_layers = 6
seed = 12345
def get_inputs(): return [torch.rand(batch_size, channels, 224, 224)]
def get_init_inputs(): return [channels, kernel_size, groups]
"""
TASK = parse_task(Path("t.py"), TEXT)


def test_first_plan_shrinks_sizes_and_spares_knobs():
    first = next(make_shrunk_variants(TASK))
    assert first.constants["channels"] <= 128
    assert not {"kernel_size", "groups", "seed", "num_layers"} & first.constants.keys()
    assert "kernel_size = 7\ngroups = 32\n" in first.text


def test_steps_are_a_size_and_eps_is_none():
    text = TEXT.replace("num_layers = 6", "STEPS = 48\nEPS = 48").replace(
        "(batch_size,", "(STEPS, EPS, batch_size,"
    )
    ragged = next(make_odd_variants(parse_task(Path("t.py"), text)))
    assert "STEPS" in ragged.constants
    assert "EPS" not in ragged.constants


def test_equal_values_stay_equal():
    for variant in make_shrunk_variants(TASK):
        new = [size for name, size in variant.constants.items() if name.startswith("get_inputs:")]
        assert len(set(new)) <= 1


def test_families_go_from_large_to_small_and_end_with_the_batch():
    variants = list(make_shrunk_variants(TASK))
    families = list(dict.fromkeys(variant.family for variant in variants))
    assert families[-1] == "batch only,"
    assert set(variants[-1].constants) == {"batch_size"}
    for family in families:
        totals = [sum(v.constants.values()) / len(v.constants) for v in variants if v.family == family]
        assert totals == sorted(totals, reverse=True)


def test_divisors_family_keeps_groups():
    kept = [v for v in make_shrunk_variants(TASK) if v.family == "all sizes, divisors kept,"]
    assert kept
    assert all(v.constants.get("channels", 512) % 32 == 0 for v in kept)


def test_halving_starts_with_the_batch_and_reaches_layers():
    variants = list(make_halvings(TASK, TASK))
    assert variants[0].constants == {"batch_size": 64}
    assert any(v.constants == {"num_layers": 3} or v.constants == {"num_layers": 2} for v in variants)


def test_sizes_are_judged_by_what_they_were_before_shrinking():
    small = parse_task(TASK.path, TEXT.replace("= 512", "= 16"))
    assert any("channels" in variant.constants for variant in make_odd_variants(small, TASK))
    assert not any("channels" in variant.constants for variant in make_odd_variants(small))


def test_ragged_variants_are_new_texts_and_differ():
    texts = [variant.text for variant in make_odd_variants(TASK)]
    assert len(set(texts)) == len(texts)
    assert TEXT not in texts


def test_a_batch_of_two_grows_where_other_sizes_shrink():
    """Else a kernel is verified for that batch alone."""
    task = parse_task(Path("t.py"), TEXT.replace("batch_size = 128", "batch_size = 2"))
    first, second, *_ = make_odd_variants(task)
    assert first.constants["batch_size"] == 3
    assert first.constants["channels"] < 512
    assert "batch_size" not in second.constants, "where that is too much work"


def test_only_the_named_sizes_become_ragged():
    variant = make_odd_subset(TASK, TASK, -3, {"batch_size"})
    assert variant is not None
    assert variant.constants == {"batch_size": 125}
    assert make_odd_subset(TASK, TASK, -3, {"kernel_size"}) is None
