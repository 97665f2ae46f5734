"""Numbers: narrow floats, TF32, reductions, libdevice, inline assembly."""

import pytest


def test_bfloat16_arithmetic_matches_torch_bit_for_bit(numerics):
    assert numerics["bf16_arithmetic"] is True


def test_dot_accumulates_in_float32(numerics):
    errors = numerics["dot_errors"]
    assert errors["bf16"] < 1e-6
    assert errors["fp16"] < 1e-6


def test_default_float32_dot_shows_the_error_of_tf32(numerics):
    errors = numerics["dot_errors"]
    assert 1e-4 < errors["tf32"] < 2e-3
    for exact in ("ieee", "tf32x3", "tf32_off"):
        assert errors[exact] < 1e-6


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("torch.float32", 1e-6), ("torch.float16", 1e-3), ("torch.bfloat16", 8e-3)]
)
def test_reductions(numerics, dtype, tolerance):
    exact, error = numerics["reductions"][dtype]
    assert exact is True
    assert error < tolerance


def test_custom_reductions_and_scans(numerics):
    assert numerics["custom_combines"] < 1e-5


def test_float8_casts_saturate_and_round_as_the_gpu_does(numerics):
    assert numerics["fp8"] == {"torch.float8_e4m3fn": True, "torch.float8_e5m2": True}


def test_a_float_argument_is_a_float32_not_a_literal(numerics):
    assert numerics["float_argument_promotes_to_float32"] is True


def test_libdevice(numerics):
    assert numerics["libdevice"] < 1e-5


def test_known_inline_assembly(numerics):
    near, low_bits, tf32_error = numerics["inline_asm"]
    assert near is True
    assert low_bits == 0
    assert 0 < tf32_error <= 2**-11


def test_unknown_inline_assembly_is_no_verdict_on_the_kernel(numerics):
    fault = numerics["unknown_asm"]
    assert fault["fault"] == "NotInterpretable"
    assert fault["verdict"] == ""
    assert "lop3" in fault["message"]


def test_integer_division_and_shifts_follow_c(numerics):
    assert numerics["integers"] is True
