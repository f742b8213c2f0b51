import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.figures.window import skip_quarter


def test_published_runs_score_the_published_windows():
    assert skip_quarter(14) == (4, 13)
    assert skip_quarter(20) == (5, 19)


@given(st.integers(2, 10**6))
def test_a_quarter_is_dropped_and_step_0_never_scored(steps):
    first, last = skip_quarter(steps)
    assert 1 <= first <= last == steps - 1
    assert steps <= 4 * first < steps + 4


@pytest.mark.parametrize("steps", [1, 0, -3])
def test_too_few_steps_have_no_window(steps):
    with pytest.raises(ValueError, match=str(steps)):
        skip_quarter(steps)
