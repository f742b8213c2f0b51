"""Packing loses, invents and reorders no token, and masks stay with their tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.rows.encode import Tokens
from openrecipes.rows.pack import Packer

EOS = 999

conversations = st.lists(
    st.lists(st.tuples(st.integers(0, 998), st.integers(0, 1)), min_size=1, max_size=30).filter(
        lambda pairs: any(mask for _, mask in pairs)
    ),
    min_size=1,
    max_size=12,
)


def tokens(pairs: list[tuple[int, int]]) -> Tokens:
    return Tokens(ids=np.array([i for i, _ in pairs], "<i4"), mask=np.array([m for _, m in pairs], np.uint8))


def packed(
    stream: list[list[tuple[int, int]]], *, rows: int, row_tokens: int
) -> tuple[list[list[tuple[int, int]]], Packer]:
    packer, out = Packer(rows=rows, row_tokens=row_tokens, eos_id=EOS), []
    for pairs in stream:
        ids, masks = packer.add(tokens(pairs))
        out += [list(zip(i.tolist(), m.tolist(), strict=True)) for i, m in zip(ids, masks, strict=True)]
        if not packer.rows_missing:
            break
    return out, packer


@given(conversations, st.integers(2, 9))
def test_rows_are_the_stream_cut_without_the_rows_that_have_no_target(
    stream: list[list[tuple[int, int]]], row_tokens: int
) -> None:
    whole = [pair for pairs in stream for pair in [(EOS, 0), *pairs]][1:]
    cut = [whole[at : at + row_tokens] for at in range(0, len(whole) - row_tokens + 1, row_tokens)]
    kept = [row for row in cut if any(mask for _, mask in row[1:])]
    out, packer = packed(stream, rows=10**6, row_tokens=row_tokens)
    assert out == kept
    assert packer.rows_without_targets == len(cut) - len(kept)
    assert packer.rows_missing == 10**6 - len(kept)


@given(conversations, st.integers(2, 9), st.integers(1, 4))
def test_no_more_rows_come_than_were_asked_for_and_only_losses_before_the_last_count(
    stream: list[list[tuple[int, int]]], row_tokens: int, rows: int
) -> None:
    everything, _ = packed(stream, rows=10**6, row_tokens=row_tokens)
    out, packer = packed(stream, rows=rows, row_tokens=row_tokens)
    assert out == everything[:rows]
    if len(out) == rows:
        whole = [pair for pairs in stream for pair in [(EOS, 0), *pairs]][1:]
        cut = [whole[at : at + row_tokens] for at in range(0, len(whole) - row_tokens + 1, row_tokens)]
        with_target = [index for index, row in enumerate(cut) if any(mask for _, mask in row[1:])]
        assert packer.rows_without_targets == with_target[rows - 1] + 1 - rows


def test_a_row_whose_only_supervised_token_is_its_first_has_no_target() -> None:
    out, packer = packed([[(1, 1), (2, 0), (3, 0), (4, 1)]], rows=2, row_tokens=2)
    assert out == [[(3, 0), (4, 1)]]
    assert packer.rows_without_targets == 1


@pytest.mark.parametrize("supervised", [0, 1])
def test_eos_stands_between_conversations_only_and_is_never_supervised(supervised: int) -> None:
    pair = [(1, 1), (2, supervised)]
    out, _ = packed([pair, pair, pair], rows=1, row_tokens=8)
    assert out == [[(1, 1), (2, supervised), (EOS, 0), (1, 1), (2, supervised), (EOS, 0), (1, 1), (2, supervised)]]
