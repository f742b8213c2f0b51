"""The manifest's counts of conversations."""

from openrecipes.rows.conversations import SkipReason
from openrecipes.rows.tally import Tally
from openrecipes.rows.workers import EncodedBatch

BATCH = EncodedBatch(
    ids=b"",
    mask=b"",
    lengths=(10, -1, 30, -1, -1, 5, 6),
    skipped={1: SkipReason.NO_USER, 3: SkipReason.NO_USER, 4: SkipReason.NOT_JSON},
    sources=("a", "a", "b", None),
    id_hashes=(1, 1, 2, None),
    loss_switches=(0, 2, 0, 0),
)
INDICES = [7, 3, 1, 9, 2, 4, 5]


def test_every_conversation_is_counted_where_it_belongs() -> None:
    tally = Tally()
    tally.add(BATCH, INDICES)
    counts = tally.counts(20, "line {}".format)
    assert (counts.available, counts.read, counts.used, counts.longest_tokens) == (20, 7, 4, 30)
    assert counts.skipped == {"no-user": 2, "not-json": 1}
    assert counts.first_skipped == {"no-user": "line 3", "not-json": "line 2"}
    shares = {name: (share.conversations, share.tokens) for name, share in counts.shares.items()}
    assert shares == {"a": (2, 40), "b": (1, 5)}
    assert (counts.duplicate_ids, counts.loss_switches_ignored, tally.tokens) == (1, 2, 51)


def test_the_first_skipped_is_the_first_in_the_source_not_in_the_seeded_order() -> None:
    tally = Tally()
    tally.add(BATCH, INDICES)
    tally.add(BATCH, [17, 0, 11, 19, 12, 14, 15])
    assert tally.counts(20, str).first_skipped == {"no-user": "0", "not-json": "2"}


def test_what_was_not_needed_is_not_counted() -> None:
    tally = Tally()
    tally.add(BATCH, INDICES[:3])
    counts = tally.counts(20, str)
    assert (counts.read, counts.used, counts.longest_tokens, tally.tokens) == (3, 2, 30, 40)
    assert counts.skipped == {"no-user": 1}
    assert set(counts.shares) == {"a"}


def test_an_id_seen_in_an_earlier_batch_is_a_duplicate() -> None:
    tally = Tally()
    tally.add(BATCH, INDICES)
    tally.add(BATCH, INDICES)
    assert tally.counts(20, str).duplicate_ids == 4
