"""Which characters and tokens are supervised, against a frozen table and a second telling of the rule."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conversation_strategies import messages_with_markup
from hypothesis import given, settings
from mask_cases import CASES
from mask_cases import SKIPPED as LEFT_OUT

from openrecipes.rows.chat_template import plain_text
from openrecipes.rows.conversations import Skipped, SkipReason, conversation
from openrecipes.rows.embedded_tokenizer import EmbeddedTokenizer
from openrecipes.rows.encode import PieceEncoder, rendered
from openrecipes.rows.joined_text import JoinedEncoder
from openrecipes.rows.loss_mask import mask_of_offsets, supervised_spans
from openrecipes.rows.tokenizer import Tokenizer

U, T = {"role": "user", "content": "hi"}, {"role": "tool", "content": "7"}


def A(content: Any, **more: Any) -> dict[str, Any]:  # noqa: N802  (so that the table below stays readable)
    return {"role": "assistant", "content": content, **more}


# Messages, and the supervised tokens' text, piece by piece. Tokens straddling a boundary count.
TABLE: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "answer": ([U, A("yes")], ["\n\n</think>\n\nyes<|im_end|>\n"]),
    "thinking": ([U, A("<think>\nhm, 2\n</think>\n\n4")], ["hm, 2\n</think>\n\n4<|im_end|>\n"]),
    "reasoning beside the content": ([U, A("4", reasoning_content="hm")], ["hm\n</think>\n\n4<|im_end|>\n"]),
    "two answers": ([U, A("a"), U, A("b")], ["a<|im_end|>\n", "\n\n</think>\n\nb<|im_end|>\n"]),
    "empty turns": ([U, A(""), U, A("")], ["<|im_end|>\n", "\n\n</think>\n\n<|im_end|>\n"]),
    "null content": (
        [U, A(None), {"role": "user", "content": None}, A("b")],
        ["<|im_end|>\n", "\n\n</think>\n\nb<|im_end|>\n"],
    ),
    "system": ([{"role": "system", "content": "s"}, U, A("b")], ["\n\n</think>\n\nb<|im_end|>\n"]),
    "switched off": ([U, A("a", step_loss_mask=0), U, A("b")], ["\n\n</think>\n\nb<|im_end|>\n"]),
    "switched on": ([U, A("a", step_loss_mask=1), U, A("b", step_loss_mask=0)], ["a<|im_end|>\n"]),
    "a switch of another name": (
        [U, A("a", loss=False), U, A("b", loss=0)],
        ["a<|im_end|>\n", "\n\n</think>\n\nb<|im_end|>\n"],
    ),
    "tool call and two results": (
        [U, A("", tool_calls=[{"name": "f", "arguments": {"a": "1"}}]), T, T, A("b")],
        [
            "\n\n</think>\n\n<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
            "\n\n</think>\n\nb<|im_end|>\n",
        ],
    ),
    "parts": (
        [U, A([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
        ["\n\n</think>\n\nab<|im_end|>\n"],
    ),
    "the end mark in a user's text": (
        [{"role": "user", "content": "x<|im_end|>y"}, A("b")],
        ["\n\n</think>\n\nb<|im_end|>\n"],
    ),
    "an unfinished thought in an earlier turn": (
        [U, A("<think>\nhm"), U, A("b")],
        ["hm<|im_end|>\n", "\n\n</think>\n\nb<|im_end|>\n"],
    ),
    "composed and decomposed": ([U, A("e\u0301 é")], ["\n\n</think>\n\né é<|im_end|>\n"]),
    "emoji": ([U, A("👩\u200d👧 ok")], ["\n\n</think>\n\n👩\u200d👧 ok<|im_end|>\n"]),
    "right to left": ([{"role": "user", "content": "שלום"}, A("مرحبا 7")], ["\n\n</think>\n\nمرحبا 7<|im_end|>\n"]),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_supervised_text_of_known_conversations(name: str, embedded: Tokenizer) -> None:
    messages, expected = TABLE[name]
    found = rendered(conversation({"messages": messages}), embedded.chat_template())
    encoded = PieceEncoder(embedded).encoded([found])
    runs: list[list[int]] = []
    for index, (token, masked) in enumerate(zip(np.frombuffer(encoded.ids, "<i4").tolist(), encoded.mask, strict=True)):
        if masked:
            if not encoded.mask[index - 1]:
                runs.append([])
            runs[-1].append(token)
    assert [embedded.decode(run) for run in runs] == expected


SKIPPED: dict[str, tuple[list[dict[str, Any]], SkipReason]] = {
    "the header in a user's text": (
        [{"role": "user", "content": "<|im_start|>assistant\nx"}, A("b")],
        SkipReason.MARKUP_IN_TEXT,
    ),
    "the header in an answer": ([U, A("<|im_start|>assistant\nx")], SkipReason.MARKUP_IN_TEXT),
    "the end mark in an answer": ([U, A("a<|im_end|>b")], SkipReason.MARKUP_IN_TEXT),
    "the end mark in a thought": ([U, A("b", reasoning_content="a<|im_end|>")], SkipReason.MARKUP_IN_TEXT),
    "the end mark in a tool call": (
        [U, A("b", tool_calls=[{"name": "f", "arguments": {"<|im_end|>": 1}}])],
        SkipReason.MARKUP_IN_TEXT,
    ),
    "everything switched off": ([U, A("a", step_loss_mask=0)], SkipReason.NOTHING_SUPERVISED),
    "a lone surrogate": ([U, A("\ud800")], SkipReason.LONE_SURROGATE),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_where_slime_would_mask_wrongly_the_conversation_is_skipped(name: str, embedded: Tokenizer) -> None:
    messages, reason = SKIPPED[name]
    with pytest.raises(Skipped) as caught:
        rendered(conversation({"messages": messages}), embedded.chat_template())
    assert caught.value.reason is reason


@settings(max_examples=300, deadline=None)
@given(messages_with_markup)
def test_spans_follow_the_rule_told_a_second_time(messages: list[dict[str, Any]]) -> None:
    try:
        found = conversation({"messages": messages})
        text = plain_text(found.messages)
        spans = supervised_spans(text, found.messages)
    except Skipped:
        return
    inside = {position for start, end in spans for position in range(start, end)}
    assert inside == told_again(text, [message.get("step_loss_mask", 1) for message in found.assistant_messages])


def told_again(text: str, switches: list[Any]) -> set[int]:
    """Positions that are supervised: a walk over the text, character by character."""
    inside: set[int] = set()
    position = 0
    for switch in switches:
        while not text[position:].startswith("<|im_start|>assistant\n"):
            position += 1
        position += len("<|im_start|>assistant\n")
        start = position + (len("<think>\n") if text[position:].startswith("<think>\n") else 0)
        while not text[position:].startswith("<|im_end|>"):
            position += 1
        position += len("<|im_end|>")
        if text[position : position + 1] == "\n":
            position += 1
        if switch == 1:
            inside |= set(range(start, position))
    return inside


def test_a_token_counts_if_any_of_its_characters_does_and_an_empty_one_never() -> None:
    offsets = [(0, 2), (2, 2), (2, 4), (4, 5), (4, 5), (5, 6)]
    assert mask_of_offsets(offsets, [(3, 5)], 6).tolist() == [0, 0, 1, 1, 1, 0]
    assert mask_of_offsets(offsets, [], 6).tolist() == [0] * 6


FROZEN = Path(__file__).resolve().parents[1] / "golden" / "rows" / "slime_masks.tsv"


def test_ids_and_masks_are_those_that_slime_gave(embedded: EmbeddedTokenizer) -> None:
    lines = [line.split("\t") for line in FROZEN.read_text(encoding="utf-8").splitlines()]
    assert [name for name, _, _ in lines] == list(CASES)
    template = embedded.chat_template()
    for encoder in (JoinedEncoder(embedded), PieceEncoder(embedded)):
        for name, ids, mask in lines:
            encoded = encoder.encoded([rendered(conversation({"messages": CASES[name]}), template)])
            assert " ".join(map(str, np.frombuffer(encoded.ids, "<i4")[1:].tolist())) == ids, name
            assert "".join(map(str, encoded.mask[1:])) == mask, name
            assert "1" in mask


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_slime_stops_at_or_masks_wrongly_is_left_out(name: str, embedded: Tokenizer) -> None:
    messages, reason, _ = LEFT_OUT[name]
    with pytest.raises(Skipped) as caught:
        rendered(conversation({"messages": messages}), embedded.chat_template())
    assert caught.value.reason is reason
