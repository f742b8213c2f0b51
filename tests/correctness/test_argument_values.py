from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.correctness.argument_values import canonical, expanded, number, whole


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("1e-5", 1e-05),
        ("8192.0", 8192),
        ("10000000", 1e7),
        ("+3", 3),
        ("True", True),
        ("None", None),
        ("[1,1, 1]", [1, 1, 1]),
        ("([0]*3+[1]*1)*2", [0, 0, 0, 1, 0, 0, 0, 1]),
        ("['a.b', 'c']", ("a.b", "c")),
        ("torch.bfloat16", "bf16"),
        ("AttnBackend.fused", "fused"),
        (" flash ", "flash"),
    ],
)
def test_one_value_has_one_text_however_it_is_written(written: str, same: object) -> None:
    assert canonical(written) == canonical(same)


@pytest.mark.parametrize("text", ["[1]*99999999", "[[1],[2]]", "[1", "([1]", "(1)", "[1]*", "[1]+", "(" * 50 + "[1]"])
def test_what_is_no_list_stays_as_it_is(text: str) -> None:
    assert expanded(text) is None
    assert canonical(text) == text


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_survive(value: float) -> None:
    assert float(canonical(str(value))) == pytest.approx(value)
    assert canonical(canonical(value)) == canonical(value)


@given(st.text(max_size=60))
def test_any_text_has_a_canonical_form_that_is_its_own(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once
    found = number(once)
    assert found is None or isfinite(found)
    assert whole(once) is None or whole(once) == pytest.approx(found)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=5), st.integers(1, 20))
def test_a_pattern_is_its_list(items: list[int], times: int) -> None:
    pattern = "+".join(f"[{item}]" for item in items)
    assert expanded(f"({pattern})*{times}") == [str(item) for item in items * times]
