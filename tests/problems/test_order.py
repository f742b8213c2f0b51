"""The order in which problems are told: by file, line and key, whoever found them and whatever raises them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.problems import OutsideError, Place, Problem, ProblemsError, UsageError, in_order


def told(file: str, line: int | None, key: str = "") -> Problem:
    return Problem(place=Place(file=file, line=line, key=key), rule="some-rule", what="is wrong", mend="mend it")


TOLD = (
    told("", None, "--gpu"),
    told("a.jsonl", None),
    told("a.jsonl", 2),
    told("a.jsonl", 10),
    told("b.parquet", None, "row 9"),
    told("b.parquet", None, "row 10"),
    told("b.parquet", None, "row 10 of 12"),
)


@given(st.permutations(TOLD), st.sampled_from([ProblemsError, UsageError, OutsideError]))
def test_an_error_holds_its_problems_in_file_and_line_order(found: list[Problem], kind: type[ProblemsError]) -> None:
    assert kind(*found, found[0]).problems == TOLD
    assert str(kind(*found)) == "\n".join(map(str, TOLD))


@pytest.mark.parametrize("key", ["9" * 5_000, "row", "", "٣", "a1b2"])
def test_any_key_has_a_place_in_the_order(key: str) -> None:
    assert len(in_order([told("a", None, key), told("a", None, "row 1")])) == 2
