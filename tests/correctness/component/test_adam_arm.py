import torch
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.correctness.component.adam_arm import is_tie, rebuilt, split

LOW = torch.arange(2**16, dtype=torch.int32)
HIGHS = [
    0x0000,
    0x0001,
    0x007F,
    0x0080,
    0x3F7F,
    0x3F80,
    0x7F7F,
    0x7F80,
    0x7FC0,
    0x7FFF,
]  # 0, denormals, 1, max, inf, NaN


def masters(high: int) -> torch.Tensor:
    """Every FP32 value with these upper 16 bits."""
    signed = high - 2**16 if high >= 2**15 else high
    return ((torch.full_like(LOW, signed) << 16) | LOW).view(torch.float32)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one.view(torch.int32), other.view(torch.int32))


@given(st.integers(0, 2**16 - 1) | st.sampled_from(HIGHS).flatmap(lambda high: st.sampled_from([high, high | 0x8000])))
def test_weight_and_remainder_give_the_master_back_bit_for_bit(high):
    master = masters(high)
    assert same_bits(rebuilt(*split(master)), master)


@given(st.integers(0, 0x7F7E))
def test_the_weight_is_the_nearest_bf16_and_differs_from_a_cast_only_at_ties(high):
    master = masters(high)
    weight, _ = split(master)
    cast = master.bfloat16()
    differs = weight.view(torch.int16) != cast.view(torch.int16)
    assert not bool((differs & ~is_tie(master)).any())
    assert int(is_tie(master).sum()) == 1
    # Away from zero at a tie, where a cast goes to even: they part exactly where the upper half is even.
    assert int(differs.sum()) == (1 if high % 2 == 0 else 0)


def test_a_remainder_of_zero_makes_the_bf16_weight_the_master():
    weight = torch.randn(4096, generator=torch.Generator().manual_seed(1)).bfloat16()
    assert torch.equal(rebuilt(weight, torch.zeros_like(weight, dtype=torch.int16)), weight.float())


def test_one_bit_of_the_remainder_is_one_bit_of_the_master():
    master = torch.randn(4096, generator=torch.Generator().manual_seed(2))
    weight, remainder = split(master)
    spoilt = rebuilt(weight, remainder ^ 1)
    assert bool(((spoilt.view(torch.int32) ^ master.view(torch.int32)) == 1).all())
