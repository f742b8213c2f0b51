"""Cuts between words: the tokens of the whole are the tokens of the parts."""

import numpy as np
import pytest
from conversation_strategies import FRAGMENTS, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.rows.pretokens import PretokenCache, pretokens
from openrecipes.rows.tokenizer import Tokenizer

CASES = (
    "",
    " ",
    "a",
    " a",
    "a b",
    "a  b",
    "a   b",
    "\n\n\nfoo",
    "word\n\nNext",
    "foo();\n    bar",
    "  \n  \n x",
    "a \n",
    "a\n ",
    "a\r\n\r\nb",
    "\tif x:\n\t\treturn\n\n\n",
    "don't stop",
    "x ’s 's",
    "1234 56",
    " 5",
    " .",
    "...\n\n",
    "a\u00a0b",
    "a\u3000\u3000b",
    "\x1c\x1d a\x1f",
    "\x85\n",
    "e\u0301 \u0301",
    " \u0338",
    "中文，标点。\n下一行",
    "🙂 🙂🙂",
    "a\u2028b\u2029\n",
    "\ufeffx",
    "ﬁ\n\u0301",
)


def ids_of(stored: bytes) -> list[int]:
    return np.frombuffer(stored, "<i4").tolist()


@pytest.fixture(scope="module")
def cache(embedded: Tokenizer) -> PretokenCache:
    return PretokenCache(embedded.encode)


@pytest.mark.parametrize("text", CASES)
def test_known_texts_have_the_same_tokens_cut_or_whole(text: str, embedded: Tokenizer, cache: PretokenCache) -> None:
    assert "".join(pretokens(text)) == text
    assert ids_of(cache.encode(text)) == embedded.encode(text)


@settings(max_examples=600, deadline=None)
@given(
    texts
    | st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)
    | st.text(alphabet=" \n\ta.1'é\u3000", max_size=20)
)
def test_any_text_has_the_same_tokens_cut_or_whole(embedded: Tokenizer, cache: PretokenCache, text: str) -> None:
    assert "".join(pretokens(text)) == text
    assert ids_of(cache.encode(text)) == embedded.encode(text)


def test_a_cut_anywhere_else_would_be_noticed(embedded: Tokenizer) -> None:
    text = "foo();\n\n    bar baz"
    whole = embedded.encode(text)
    allowed = set(np.cumsum([len(piece) for piece in pretokens(text)]).tolist())
    wrong = [
        at
        for at in range(1, len(text))
        if at not in allowed and embedded.encode(text[:at]) + embedded.encode(text[at:]) != whole
    ]
    assert len(wrong) >= 8


def test_a_repeated_word_is_encoded_once() -> None:
    asked: list[str] = []
    cache = PretokenCache(lambda piece: asked.append(piece) or [len(piece)])
    assert ids_of(cache.encode("a bb a bb bb")) == [1, 3, 2, 3, 3]
    assert asked == ["a", " bb", " a"]


def test_long_pieces_are_not_kept() -> None:
    cache = PretokenCache(lambda piece: [len(piece)])
    cache.encode("x" * 1_000)
    assert not cache
