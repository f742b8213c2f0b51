"""Tokens and masks by pieces against the whole text at once."""

from typing import Any

import numpy as np
import pytest
from conversation_strategies import messages_with_markup
from hypothesis import given, settings

from openrecipes.rows.chat_template import PlainTemplate
from openrecipes.rows.conversations import Skipped, conversation
from openrecipes.rows.encode import ConversationEncoder, Tokens
from openrecipes.rows.huggingface_tokenizer import HuggingFaceTokenizer
from openrecipes.rows.tokenizer import Tokenizer


class Whole:
    """A tokenizer that may not be cut."""

    cuts_like_qwen = False

    def __init__(self, inner: HuggingFaceTokenizer) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.fixture(scope="module")
def encoders(qwen_form: HuggingFaceTokenizer) -> tuple[ConversationEncoder, ConversationEncoder]:
    assert qwen_form.cuts_like_qwen
    return ConversationEncoder(qwen_form, PlainTemplate()), ConversationEncoder(Whole(qwen_form), PlainTemplate())


def ids_of(tokens: Tokens) -> list[int]:
    return np.frombuffer(tokens.ids, "<i4").tolist()


def tokens_or_reason(encoder: ConversationEncoder, messages: list[dict[str, Any]]) -> Tokens | str:
    try:
        return encoder.tokens(conversation({"messages": messages}))
    except Skipped as skipped:
        return skipped.reason.value


@settings(max_examples=500, deadline=None)
@given(messages_with_markup)
def test_pieces_give_the_tokens_and_masks_of_the_whole(
    encoders: tuple[ConversationEncoder, ConversationEncoder], messages: list[dict[str, Any]]
) -> None:
    cut, whole = (tokens_or_reason(encoder, messages) for encoder in encoders)
    if isinstance(cut, str) or isinstance(whole, str):
        assert cut == whole
        return
    assert ids_of(cut) == ids_of(whole)
    assert cut.mask == whole.mask
    assert set(cut.mask) in ({0, 1}, {1})
    assert len(cut) == len(ids_of(cut))


def test_the_embedded_vocabulary_has_qwens_ids(embedded: Tokenizer) -> None:
    assert embedded.eos_id == embedded.special_tokens["<|im_end|>"] == 248046
    assert embedded.special_tokens["<|im_start|>"] == 248045
    assert embedded.special_tokens["<|endoftext|>"] == embedded.pad_id == 248044
    assert embedded.vocabulary_size == 248077
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]
    tokens = ConversationEncoder(embedded, embedded.chat_template()).tokens(conversation({"messages": messages}))
    text = embedded.decode(ids_of(tokens))
    assert text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nyes<|im_end|>\n"
    # Of the empty thought, `\n\n` straddles the prefix that is left out, and is supervised; `<think>` is not.
    assert ids_of(tokens)[-7:] == [248068, 271, 248069, 271, 9405, 248046, 198]
    assert tokens.mask[-7:] == b"\0\1\1\1\1\1\1"
    assert not any(tokens.mask[:-7])
