"""Packing loses, invents and reorders no token, and masks stay with their tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.rows.pack import Packer

EOS = 999

conversations = st.lists(
    st.lists(st.tuples(st.integers(0, 998), st.integers(0, 1)), min_size=1, max_size=30).filter(
        lambda pairs: any(mask for _, mask in pairs)
    ),
    min_size=1,
    max_size=12,
)


def packed(
    stream: list[list[tuple[int, int]]], *, rows: int, row_tokens: int, batch: int = 1
) -> tuple[list[list[tuple[int, int]]], Packer, int]:
    """Rows as (id, mask) pairs, the packer, and how many conversations were used."""
    packer, out, used = Packer(rows=rows, row_tokens=row_tokens), [], 0
    for at in range(0, len(stream), batch):
        some = [pair for pairs in stream[at : at + batch] for pair in [(EOS, 0), *pairs]]
        ids, masks = packer.add(np.array([i for i, _ in some], "<i4").tobytes(), bytes(m for _, m in some))
        out += [list(zip(i.tolist(), m.tolist(), strict=True)) for i, m in zip(ids, masks, strict=True)]
        used += packer.conversations_used([len(pairs) for pairs in stream[at : at + batch]])
        if not packer.rows_missing:
            break
    return out, packer, used


@given(conversations, st.integers(2, 9))
def test_rows_are_the_stream_cut_without_the_rows_that_have_no_target(
    stream: list[list[tuple[int, int]]], row_tokens: int
) -> None:
    whole = [pair for pairs in stream for pair in [(EOS, 0), *pairs]][1:]
    cut = [whole[at : at + row_tokens] for at in range(0, len(whole) - row_tokens + 1, row_tokens)]
    kept = [row for row in cut if any(mask for _, mask in row[1:])]
    out, packer, _ = packed(stream, rows=10**6, row_tokens=row_tokens)
    assert out == kept
    assert packer.rows_without_targets == len(cut) - len(kept)
    assert packer.rows_missing == 10**6 - len(kept)


@given(conversations, st.integers(2, 9), st.integers(1, 4))
def test_no_more_rows_come_than_were_asked_for_and_only_losses_before_the_last_count(
    stream: list[list[tuple[int, int]]], row_tokens: int, rows: int
) -> None:
    everything, _, _ = packed(stream, rows=10**6, row_tokens=row_tokens)
    out, packer, _ = packed(stream, rows=rows, row_tokens=row_tokens)
    assert out == everything[:rows]
    if len(out) == rows:
        whole = [pair for pairs in stream for pair in [(EOS, 0), *pairs]][1:]
        cut = [whole[at : at + row_tokens] for at in range(0, len(whole) - row_tokens + 1, row_tokens)]
        with_target = [index for index, row in enumerate(cut) if any(mask for _, mask in row[1:])]
        assert packer.rows_without_targets == with_target[rows - 1] + 1 - rows


def test_a_row_whose_only_supervised_token_is_its_first_has_no_target() -> None:
    out, packer, _ = packed([[(1, 1), (2, 0), (3, 0), (4, 1)]], rows=2, row_tokens=2)
    assert out == [[(3, 0), (4, 1)]]
    assert packer.rows_without_targets == 1


@pytest.mark.parametrize("supervised", [0, 1])
def test_eos_stands_between_conversations_only_and_is_never_supervised(supervised: int) -> None:
    pair = [(1, 1), (2, supervised)]
    out, _, _ = packed([pair, pair, pair], rows=1, row_tokens=8)
    assert out == [[(1, 1), (2, supervised), (EOS, 0), (1, 1), (2, supervised), (EOS, 0), (1, 1), (2, supervised)]]


@given(conversations, st.integers(2, 9), st.integers(1, 4), st.integers(1, 13))
def test_batches_change_neither_rows_nor_counts(
    stream: list[list[tuple[int, int]]], row_tokens: int, rows: int, batch: int
) -> None:
    one, single, used = packed(stream, rows=rows, row_tokens=row_tokens)
    other, batched, used_too = packed(stream, rows=rows, row_tokens=row_tokens, batch=batch)
    assert (one, used) == (other, used_too)
    assert single.rows_without_targets == batched.rows_without_targets
    assert single.rows_missing == batched.rows_missing


def test_records_that_gave_no_tokens_are_used_only_before_the_last_row_is_complete() -> None:
    packer = Packer(rows=1, row_tokens=4)
    packer.add(np.array([EOS, 1, 2, EOS, 3, 4, EOS, 5], "<i4").tobytes(), bytes([0, 1, 1, 0, 1, 1, 0, 1]))
    assert packer.conversations_used([-1, 2, -1, 2, -1, 1]) == 4
