"""Several inputs read together: each is read, and what is wrong with any is told with the rest."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.problems import OutsideError, Place, Problem, ProblemsError, UsageError, together

KINDS = (None, ProblemsError, UsageError, OutsideError)


def reads(number: int, kind: type[ProblemsError] | None, seen: list[int]) -> Callable[[], int]:
    """An input that is sound, or wrong in the given way; `seen` tells that it was read."""

    def read() -> int:
        seen.append(number)
        if kind is not None:
            raise kind(Problem(place=Place(file=f"{number:03}"), rule="some-rule", what="is wrong", mend="mend it"))
        return number

    return read


@given(st.lists(st.sampled_from(KINDS), max_size=8))
def test_every_input_is_read_and_every_problem_told(kinds: list[type[ProblemsError] | None]) -> None:
    seen: list[int] = []
    inputs = [reads(number, kind, seen) for number, kind in enumerate(kinds)]
    wrong = {number: kind for number, kind in enumerate(kinds) if kind is not None}
    if not wrong:
        assert together(*inputs) == tuple(range(len(kinds)))
    else:
        with pytest.raises(ProblemsError) as told:
            together(*inputs)
        assert [problem.place.file for problem in told.value.problems] == [f"{number:03}" for number in wrong]
        assert told.value.exit_status == max(kind.exit_status for kind in wrong.values())
    assert seen == list(range(len(kinds)))


def test_a_bug_is_no_problem_of_an_input() -> None:
    with pytest.raises(ZeroDivisionError):
        together(lambda: 1 // 0, lambda: 2)
