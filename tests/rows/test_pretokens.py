"""Cuts between words: the tokens of the whole are the tokens of the parts."""

import unicodedata

import numpy as np
import pytest
from conversation_strategies import FRAGMENTS, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.rows.embedded_tokenizer import _NORMAL
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


def whole(tokenizer: Tokenizer, text: str) -> list[int]:
    return ids_of(tokenizer.encode_many([text])[0])


@pytest.fixture(scope="module")
def cache(embedded: Tokenizer) -> PretokenCache:
    return PretokenCache(embedded.encode_many, {})


@pytest.mark.parametrize("text", CASES)
def test_known_texts_have_the_same_tokens_cut_or_whole(text: str, embedded: Tokenizer, cache: PretokenCache) -> None:
    assert "".join(pretokens(text)) == text
    assert ids_of(b"".join(cache.encoded(pretokens(text))[0])) == whole(embedded, text)


@settings(max_examples=600, deadline=None)
@given(
    texts
    | st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)
    | st.text(alphabet=" \n\ta.1'é\u3000", max_size=20)
)
def test_any_text_has_the_same_tokens_cut_or_whole(embedded: Tokenizer, cache: PretokenCache, text: str) -> None:
    assert "".join(pretokens(text)) == text
    assert ids_of(b"".join(cache.encoded(pretokens(text))[0])) == whole(embedded, text)


def test_a_cut_anywhere_else_would_be_noticed(embedded: Tokenizer) -> None:
    text = "foo();\n\n    bar baz"
    tokens = whole(embedded, text)
    allowed = set(np.cumsum([len(piece) for piece in pretokens(text)]).tolist())
    wrong = [
        at
        for at in range(1, len(text))
        if at not in allowed and whole(embedded, text[:at]) + whole(embedded, text[at:]) != tokens
    ]
    assert len(wrong) >= 8


def test_a_repeated_word_is_encoded_once() -> None:
    asked: list[list[str]] = []

    def encode_many(pieces: list[str]) -> list[bytes]:
        asked.append(pieces)
        return [b"%04d" % len(piece) * (1 + piece.count("b")) for piece in pieces]

    cache = PretokenCache(encode_many, {"<s>": b"9999"})
    stored, counts = cache.encoded(["<s>", *pretokens("a bb a bb bb"), "x" * 50])
    assert stored == [b"9999", b"0001", b"0003" * 3, b"0002", b"0003" * 3, b"0003" * 3, b"0050"]
    assert counts.tolist() == [1, 1, 3, 1, 3, 3, 1]
    assert asked == [["a", " bb", " a", "x" * 50]]
    cache.encoded([" bb", " a", "x" * 50])
    assert asked[1:] == [["x" * 50]], "a long piece is not kept"


PIECES = st.lists(texts, max_size=8)


@settings(max_examples=200, deadline=None)
@given(PIECES)
def test_many_texts_at_once_have_the_tokens_of_each(embedded: Tokenizer, pieces: list[str]) -> None:
    assert embedded.encode_many(pieces) == [embedded.encode_many([piece])[0] for piece in pieces]


def test_text_that_is_not_normalised_needs_no_normalising(embedded: Tokenizer) -> None:
    normal = [letter for letter in map(chr, range(0x110000)) if _NORMAL.fullmatch(letter) and letter != "\ud800"]
    assert len(normal) > 30_000
    seconds = set()
    for letter in map(chr, range(0x110000)):
        parts = unicodedata.decomposition(letter).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            seconds.add(chr(int(parts[1], 16)))
    assert [letter for letter in normal if unicodedata.normalize("NFC", letter) != letter] == []
    assert [letter for letter in normal if unicodedata.combining(letter) or letter in seconds] == []
    assert not _NORMAL.fullmatch("\u1161")  # Hangul vowels and finals compose by rule, not by table
    assert not _NORMAL.fullmatch("\u11a8")
