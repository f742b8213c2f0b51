"""Text is shown as text: nothing hides, nothing turns what follows round, and a copy is exact."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from openrecipes.site.shown_text import exact, shown


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200b", "\x00", "\x1b", "\u2028", "\ufeff", "\ud800"])
def test_a_hidden_character_is_named(character: str) -> None:
    assert shown(f"a{character}b") == f"a[U+{ord(character):04X}]b"


@pytest.mark.parametrize("text", ["plain", "🧑🏽‍🚀", "مرحبا", "日本語", "a\tb\nc", "نیم‌فاصله"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert shown(text) == text
    assert exact(text) == text


def test_markup_and_numbers_pass() -> None:
    assert shown(Markup("<b>\u202e</b>")) == "<b>\u202e</b>"
    assert shown(3) == 3


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",))))
def test_the_text_of_an_exact_element_is_the_text(text: str) -> None:
    markup = str(exact(text))
    parsed = html.unescape(re.sub(r"<span [^>]*>(.*?)</span>", r"\1", markup, flags=re.DOTALL))
    # html.unescape reads &#13; as a browser does.
    assert parsed == text
    assert "\r" not in markup


def test_what_turns_text_round_is_isolated() -> None:
    assert exact("a\u202eb") == 'a<span class="hidden-character" data-name="U+202E">\u202e</span>b'
    assert exact("<b>\r") == '&lt;b&gt;<span class="hidden-character" data-name="U+000D">&#13;</span>'
