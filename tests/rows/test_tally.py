"""The manifest's counts of conversations."""

import numpy as np

from openrecipes.rows.conversations import SkipReason
from openrecipes.rows.encode import Tokens
from openrecipes.rows.tally import Tally
from openrecipes.rows.workers import Outcome


def of(tokens: int, **more: object) -> Outcome:
    return Outcome(tokens=Tokens(ids=np.zeros(tokens, "<i4"), mask=np.ones(tokens, np.uint8)), **more)  # type: ignore[arg-type]


def test_every_conversation_is_counted_where_it_belongs() -> None:
    tally = Tally(lambda index: f"line {index}")
    for index, outcome in (
        (7, of(10, source="a", id="x")),
        (3, Outcome(skipped=SkipReason.NO_USER)),
        (1, of(30, source="a", id="x", loss_switches=2)),
        (9, Outcome(skipped=SkipReason.NO_USER)),
        (2, Outcome(skipped=SkipReason.NOT_JSON)),
        (4, of(5, source="b", id="y")),
        (5, of(6)),
    ):
        tally.add(index, outcome)
    counts = tally.counts(20)
    assert (counts.available, counts.read, counts.used, counts.longest_tokens) == (20, 7, 4, 30)
    assert counts.skipped == {"no-user": 2, "not-json": 1}
    assert counts.first_skipped == {"no-user": "line 3", "not-json": "line 2"}
    assert {name: (share.conversations, share.tokens) for name, share in counts.shares.items()} == {
        "a": (2, 40),
        "b": (1, 5),
    }
    assert (counts.duplicate_ids, counts.loss_switches_ignored, tally.tokens) == (1, 2, 51)
