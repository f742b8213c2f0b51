"""Tokens and masks by pieces against the whole text at once."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conversation_strategies import messages_with_markup
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.rows.chat_template import PlainTemplate
from openrecipes.rows.conversations import Skipped, conversation
from openrecipes.rows.embedded_tokenizer import EmbeddedTokenizer
from openrecipes.rows.encode import Encoded, PieceEncoder, Rendered, WholeEncoder, rendered
from openrecipes.rows.huggingface_tokenizer import HuggingFaceTokenizer
from openrecipes.rows.joined_text import JoinedEncoder
from openrecipes.rows.tokenizer import Tokenizer, read_tokenizer


@pytest.fixture(scope="module")
def encoders(qwen_form: HuggingFaceTokenizer) -> tuple[PieceEncoder, WholeEncoder]:
    assert qwen_form.cuts_like_qwen
    return PieceEncoder(qwen_form), WholeEncoder(qwen_form)


@pytest.fixture(scope="module")
def joined_and_pieces(embedded: EmbeddedTokenizer) -> tuple[JoinedEncoder, PieceEncoder]:
    return JoinedEncoder(embedded), PieceEncoder(embedded)


def texts(conversations: list[list[dict[str, Any]]]) -> list[Rendered]:
    found = []
    for messages in conversations:
        with contextlib.suppress(Skipped):
            found.append(rendered(conversation({"messages": messages}), PlainTemplate()))
    return found


def ids_of(encoded: Encoded) -> list[int]:
    return np.frombuffer(encoded.ids, "<i4").tolist()


@settings(max_examples=200, deadline=None)
@given(st.lists(messages_with_markup, min_size=1, max_size=4))
def test_pieces_give_the_tokens_and_masks_of_the_whole(
    encoders: tuple[PieceEncoder, WholeEncoder], conversations: list[list[dict[str, Any]]]
) -> None:
    found = texts(conversations)
    cut, whole = (encoder.encoded(found) for encoder in encoders)
    assert ids_of(cut) == ids_of(whole)
    assert cut == whole
    assert len(cut.mask) == len(ids_of(cut)) == sum(cut.lengths) + len(cut.lengths)
    assert set(cut.mask) in (set(), {0, 1})


@settings(max_examples=200, deadline=None)
@given(st.lists(messages_with_markup, min_size=1, max_size=4))
def test_a_batch_as_one_text_gives_the_tokens_and_masks_of_its_pieces(
    joined_and_pieces: tuple[JoinedEncoder, PieceEncoder], conversations: list[list[dict[str, Any]]]
) -> None:
    found = texts(conversations)
    joined, pieces = (encoder.encoded(found) for encoder in joined_and_pieces)
    assert joined == pieces


@pytest.mark.parametrize("run", [" " * 1_200_000, "\n" * 50_000, "a" * 50_000, " \n" * 50_000])
def test_a_very_long_run_of_one_kind_is_encoded(embedded: EmbeddedTokenizer, run: str) -> None:
    case = [{"role": "user", "content": f"x{run}y"}, {"role": "assistant", "content": f"a{run}b"}]
    found = texts([case])
    joined = JoinedEncoder(embedded).encoded(found)
    assert joined == PieceEncoder(embedded).encoded(found)
    assert embedded.decode(ids_of(joined)[1:]) == found[0].text
    short = f"x{run[:2000]}y"
    assert embedded._ids(short) == embedded.encode_marked(short).tolist()


def test_each_conversation_stands_behind_an_eos_and_has_its_own_tokens(
    encoders: tuple[PieceEncoder, WholeEncoder],
) -> None:
    a = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]
    b = [{"role": "user", "content": "and?"}, {"role": "assistant", "content": "no"}]
    for encoder in encoders:
        both, first, second = (encoder.encoded(texts(some)) for some in ([a, b], [a], [b]))
        assert both.ids == first.ids + second.ids
        assert both.mask == first.mask + second.mask
        assert both.lengths == first.lengths + second.lengths
        assert encoder.encoded([]) == Encoded(ids=b"", mask=b"", lengths=())


def test_the_embedded_vocabulary_has_qwens_ids(embedded: Tokenizer) -> None:
    assert embedded.eos_id == embedded.special_tokens["<|im_end|>"] == 248046
    assert embedded.special_tokens["<|im_start|>"] == 248045
    assert embedded.special_tokens["<|endoftext|>"] == embedded.pad_id == 248044
    assert embedded.vocabulary_size == 248077
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]
    tokens = PieceEncoder(embedded).encoded(texts([messages]))
    assert ids_of(tokens)[0] == 248046
    text = embedded.decode(ids_of(tokens)[1:])
    assert text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nyes<|im_end|>\n"
    # Of the empty thought, `\n\n` straddles the prefix that is left out, and is supervised; `<think>` is not.
    assert ids_of(tokens)[-7:] == [248068, 271, 248069, 271, 9405, 248046, 198]
    assert tokens.mask[-7:] == b"\0\1\1\1\1\1\1"
    assert not any(tokens.mask[:-7])


def test_a_tokenizer_of_another_form_is_given_the_whole_text(tokenizer_folder: Path, tmp_path: Path) -> None:
    document = json.loads((tokenizer_folder / "tokenizer.json").read_text(encoding="utf-8"))
    for index, edit in enumerate(
        (
            {"normalizer": None},
            {
                "pre_tokenizer": {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": False,
                    "use_regex": True,
                }
            },
            {
                "post_processor": {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": True,
                    "use_regex": False,
                }
            },
            {"model": {**document["model"], "dropout": 0.1}},
            {"added_tokens": [{**token, "lstrip": True} for token in document["added_tokens"]]},
        )
    ):
        folder = tmp_path / str(index)
        folder.mkdir()
        (folder / "tokenizer.json").write_text(json.dumps({**document, **edit}), encoding="utf-8")
        assert not read_tokenizer(str(folder)).cuts_like_qwen
