"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes import units


@pytest.mark.parametrize(
    ("percent", "digits", "text"),
    [(0.0, 1, "+0.0 %"), (-0.0, 1, "+0.0 %"), (-0.04, 1, "+0.0 %"), (-0.06, 1, "-0.1 %"), (1.234, 2, "+1.23 %")],
)
def test_a_change_has_its_sign_and_no_minus_before_nothing(percent: float, digits: int, text: str) -> None:
    assert units.change(percent, digits) == text


@given(st.floats(-1e6, 1e6))
def test_a_change_is_its_number_to_a_digit(percent: float) -> None:
    text = units.change(percent).removesuffix(" %")
    assert float(text) == pytest.approx(percent, abs=0.0501)
    assert not (text.startswith("-") and float(text) == 0)


@pytest.mark.parametrize(("number", "words"), [(0, "0 steps"), (1, "1 step"), (2, "2 steps"), (1204, "1,204 steps")])
def test_a_count_of_one_has_no_plural(number: int, words: str) -> None:
    assert units.counted(number, "step") == words
