"""Records to conversations, or the reason why not."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.rows.conversations import Skipped, SkipReason, conversation

GOOD = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def with_content(content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}, GOOD[1]]}


BAD: list[tuple[Any, SkipReason]] = [
    (None, SkipReason.NO_MESSAGES),
    ([], SkipReason.NO_MESSAGES),
    ({"prompt": "x"}, SkipReason.NO_MESSAGES),
    ({"messages": []}, SkipReason.NO_MESSAGES),
    ({"messages": "hello"}, SkipReason.NO_MESSAGES),
    ({"messages": ["hello"]}, SkipReason.BAD_MESSAGE),
    ({"messages": [{"content": "x"}]}, SkipReason.BAD_MESSAGE),
    ({"messages": [{"role": 3, "content": "x"}]}, SkipReason.BAD_MESSAGE),
    ({"messages": [{"role": "human", "content": "x"}]}, SkipReason.UNKNOWN_ROLE),
    ({"messages": GOOD[:1]}, SkipReason.NO_ASSISTANT),
    ({"messages": [{"role": "system", "content": "x"}]}, SkipReason.NO_ASSISTANT),
    (with_content(42), SkipReason.BAD_CONTENT),
    (with_content({"text": "x"}), SkipReason.BAD_CONTENT),
    (with_content(["x"]), SkipReason.BAD_CONTENT),
    (with_content([{"type": "image", "image": "x"}]), SkipReason.BAD_CONTENT),
    (with_content([{"type": "text", "text": None}]), SkipReason.BAD_CONTENT),
]


@pytest.mark.parametrize(("record", "reason"), BAD)
def test_a_bad_record_is_skipped_for_its_reason(record: Any, reason: SkipReason) -> None:
    with pytest.raises(Skipped) as caught:
        conversation(record)
    assert caught.value.reason is reason


def test_a_good_record_keeps_its_messages_and_where_it_came_from() -> None:
    found = conversation({"messages": GOOD, "source": "tulu", "id": 7, "tools": None, "other": 1})
    assert [dict(message) for message in found.messages] == GOOD
    assert (found.source, found.id, found.tools) == ("tulu", "7", None)


def test_keys_that_a_parquet_file_fills_with_null_are_not_there_but_content_is() -> None:
    record = {"messages": [{**GOOD[0], "step_loss_mask": None}, {**GOOD[1], "content": None, "tool_calls": None}]}
    assert [dict(message) for message in conversation(record).messages] == [GOOD[0], {**GOOD[1], "content": None}]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("role", "content", "messages", "x")), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(values)
def test_no_record_whatever_raises_anything_else(record: Any) -> None:
    with contextlib.suppress(Skipped):
        assert conversation(record).assistant_messages
