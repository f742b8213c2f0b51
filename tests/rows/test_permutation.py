"""The order of the conversations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.rows.permutation import MAX_SEED, permutation, splitmix64

MASK = 2**64 - 1


def by_hand(seed: int, count: int) -> list[int]:
    """SplitMix64 in Python's own integers."""
    outputs, state = [], seed
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        outputs.append(z ^ (z >> 31))
    return outputs


def test_splitmix64_gives_the_outputs_of_its_reference() -> None:
    # The first outputs of the reference C program for this seed.
    assert splitmix64(1234567, 5).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@given(st.integers(0, MAX_SEED), st.integers(0, 50))
def test_the_order_is_that_of_the_outputs(seed: int, count: int) -> None:
    outputs = by_hand(seed, count)
    assert splitmix64(seed, count).tolist() == outputs
    assert permutation(seed, count).tolist() == sorted(range(count), key=lambda index: (outputs[index], index))


@pytest.mark.parametrize("seed", [0, 42, MAX_SEED])
def test_every_index_comes_once_and_a_longer_source_keeps_the_order(seed: int) -> None:
    long, short = permutation(seed, 10_000).tolist(), permutation(seed, 100).tolist()
    assert sorted(long) == list(range(10_000))
    assert [index for index in long if index < 100] == short


def test_the_first_conversations_for_seed_42_never_change() -> None:
    assert permutation(42, 1_000)[:8].tolist() == FIRST_OF_SEED_42
    assert permutation(43, 1_000)[:8].tolist() != FIRST_OF_SEED_42


FIRST_OF_SEED_42 = [171, 215, 920, 808, 718, 315, 564, 642]
