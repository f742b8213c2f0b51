"""Addresses are short, plain, and one a name; links between them lead where they say."""

from posixpath import dirname, join, normpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.site.addresses import anchor, relative, slug, slugs

PARTS = st.lists(st.sampled_from(["a", "b", "c.html", "d-e"]), min_size=1, max_size=4).map("/".join)


@given(st.text(max_size=600))
def test_a_slug_is_a_plain_file_name_of_bounded_length(text: str) -> None:
    found = slug(text)
    assert 0 < len(found) <= 91
    assert found.isascii()
    assert all(character.isalnum() or character in "._-" for character in found)
    assert not found.startswith((".", "-"))
    assert found == found.lower()


@given(st.lists(st.text(max_size=8), max_size=12))
def test_names_that_differ_have_slugs_that_differ(names: list[str]) -> None:
    assert len(set(slugs(names).values())) == len(set(names))


def test_the_slug_of_a_model_is_its_name_in_lower_case() -> None:
    assert slug("Qwen3.5-397B-A17B") == "qwen3.5-397b-a17b"
    assert dict(slugs(["H200", "h200"])).keys() == {"H200", "h200"}


@given(PARTS, PARTS)
def test_a_relative_link_leads_to_its_address(here: str, there: str) -> None:
    assert normpath(join(dirname(here), relative(here, there))) == there


@pytest.mark.parametrize(
    ("there", "link"), [("a/b.html#x", "#x"), ("#x", "#x"), ("c.html#x", "../c.html#x"), ("a/d.html", "d.html")]
)
def test_fragments_stay_on_their_page(there: str, link: str) -> None:
    assert relative("a/b.html", there) == link


def test_an_anchor_is_never_empty() -> None:
    assert anchor("Tokens/s per GPU") == "tokens-s-per-gpu"
    assert anchor("≥") != ""
