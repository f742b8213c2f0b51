"""The nearest name: found after one slip, and not where nothing is near."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.problems import nearest

FLAGS = tuple(argument_catalogue(stack_ids()[0]).parser.by_flag)
LETTERS = "abcdefghijklmnopqrstuvwxyz-"


@st.composite
def slips(draw: st.DrawFn) -> tuple[str, str]:
    """A flag, and the flag with one letter left out, doubled, changed or swapped with the next."""
    flag = draw(st.sampled_from([flag for flag in FLAGS if len(flag) > 8]))
    at = draw(st.integers(2, len(flag) - 2))
    kind = draw(st.sampled_from(["out", "double", "change", "swap"]))
    letter = draw(st.sampled_from(LETTERS))
    slip = {
        "out": flag[:at] + flag[at + 1 :],
        "double": flag[:at] + flag[at] + flag[at:],
        "change": flag[:at] + letter + flag[at + 1 :],
        "swap": flag[:at] + flag[at + 1] + flag[at] + flag[at + 2 :],
    }[kind]
    return flag, slip


def edits(one: str, other: str) -> int:
    """Letters to put in, take out or change to get from one to the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@given(slips())
def test_one_slip_finds_the_flag_or_one_as_near(pair: tuple[str, str]) -> None:
    flag, slip = pair
    assume(slip not in FLAGS)
    found = nearest(slip, FLAGS)
    assert found is not None
    assert edits(slip, found) <= edits(slip, flag)


@given(st.sampled_from(FLAGS))
def test_a_known_flag_is_its_own_nearest(flag: str) -> None:
    assert nearest(flag, FLAGS) == flag


@given(st.text(LETTERS, min_size=4, max_size=30))
def test_what_is_named_shares_most_of_its_letters(word: str) -> None:
    found = nearest(f"--{word}", FLAGS)
    if found is not None:
        bare = found.lstrip("-")
        assert edits(word.lstrip("-"), bare) <= max(len(word), len(bare)) / 2


@pytest.mark.parametrize("word", ["--nonsense-flag", "--frobnicate", "--foo", "--use-magic", "--deepspeed", "--zero-3"])
def test_no_flag_is_named_where_none_is_near(word: str) -> None:
    assert nearest(word, FLAGS) is None
