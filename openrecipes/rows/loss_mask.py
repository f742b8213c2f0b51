"""Which tokens are supervised: slime's rule `qwen3_5`, on the rendered text.

The rule is textual. Walking the assistant messages in order, it finds the next literal header
`<|im_start|>assistant` with its line break, then the next `<|im_end|>`; supervised is what lies between
them, the `<|im_end|>` and one line break right behind it. A leading `<think>` with its line break belongs
to the generation prompt and is left out. A token counts if any of its characters does.
Source: slime/utils/mask_utils.py at THUDM/slime a897e1f4.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from openrecipes.rows.conversations import Message, Skipped, SkipReason

RULE: Final = "qwen3_5"
HEADER = "<|im_start|>assistant\n"
END = "<|im_end|>"
THINK = "<think>\n"

Span = tuple[int, int]


def supervised_spans(text: str, messages: Iterable[Message]) -> list[Span]:
    """Half-open character spans of the rendered text that are supervised, in order, without overlap.

    Where the search would go astray (the header stands in a message's own text, or `<|im_end|>` in an
    assistant's), slime's mask is wrong or ends early: such a conversation is skipped.

    Raises: Skipped.
    """
    spoken = [message for message in messages if message["role"] == "assistant"]
    headers = text.count(HEADER)
    if headers < len(spoken):
        raise Skipped(SkipReason.NO_HEADER)
    if headers > len(spoken) or any(_holds_end(message) for message in spoken):
        raise Skipped(SkipReason.MARKUP_IN_TEXT)
    spans, cursor = [], 0
    for message in spoken:
        start = text.index(HEADER, cursor) + len(HEADER)
        stop = text.find(END, start)
        if stop < 0:
            raise Skipped(SkipReason.NO_HEADER)
        cursor = stop + len(END)
        cursor += text.startswith("\n", cursor)
        if is_switched_on(message):
            spans.append((start + len(THINK) * text.startswith(THINK, start), cursor))
    return spans


def is_switched_on(message: Message) -> bool:
    """Whether the message may be supervised: `step_loss_mask` is 1 or absent. slime knows no other switch."""
    return bool(message.get("step_loss_mask", 1) == 1)


def mask_of_offsets(offsets: Sequence[Span], spans: Iterable[Span], characters: int) -> NDArray[np.uint8]:
    """1 for each token of which any character lies in a span; a token without characters has 0.

    `offsets` are half-open character spans of the tokens; two tokens may share a character.
    """
    inside = np.zeros(characters + 1, dtype=np.int64)
    for start, end in spans:
        inside[start + 1 : end + 1] = 1
    counted = np.cumsum(inside)
    bounds = np.asarray(offsets, dtype=np.int64).reshape(-1, 2)
    return (counted[bounds[:, 1]] > counted[bounds[:, 0]]).astype(np.uint8)


def _holds_end(value: Any) -> bool:
    """Whether `<|im_end|>` stands in any text of an assistant message, tool calls included."""
    if type(value) is str:
        return END in value
    if type(value) is dict:
        # Most values are plain texts; a call for each would cost more than looking into it.
        return any(END in item if type(item) is str else _holds_end(item) for pair in value.items() for item in pair)
    return type(value) in (list, tuple) and any(map(_holds_end, value))
