"""The scored steps: by rule, by hand, or as the recipe states them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.figures.window import LAST_10, LAST_30_PERCENT, RULES, SKIP_QUARTER, TEN_TO_30, rule_of
from openrecipes.problems import UsageError
from openrecipes.score.window import AS_STATED, ScoredWindow, scored_window, window_choice


@pytest.mark.parametrize(
    ("rule", "steps", "window"),
    [
        (SKIP_QUARTER, 14, (4, 13)),
        (SKIP_QUARTER, 20, (5, 19)),
        (LAST_10, 14, (4, 13)),
        (LAST_10, 50, (40, 49)),
        (LAST_30_PERCENT, 14, (9, 13)),
        (LAST_30_PERCENT, 20, (14, 19)),
        (TEN_TO_30, 31, (10, 30)),
        (TEN_TO_30, 100, (10, 30)),
    ],
)
def test_a_rule_gives_its_window(rule: str, steps: int, window: tuple[int, int]) -> None:
    assert RULES[rule](steps) == window
    choice = window_choice(rule, None)
    assert scored_window(choice, (1, 2), steps) == ScoredWindow(rule=rule, first=window[0], last=window[1])


@given(st.sampled_from(sorted(RULES)), st.integers(-3, 200))
def test_a_rule_never_scores_step_0_nor_beyond_the_run(rule: str, steps: int) -> None:
    try:
        first, last = RULES[rule](steps)
    except ValueError:
        assert scored_window(window_choice(rule, None), None, steps) is None
        return
    assert 1 <= first <= last < steps


def test_without_a_choice_the_recipes_window_is_scored() -> None:
    assert scored_window(AS_STATED, (5, 12), 14) == ScoredWindow(rule="window 5:12", first=5, last=12)
    assert scored_window(AS_STATED, (4, 13), 14) == ScoredWindow(rule=SKIP_QUARTER, first=4, last=13)


def test_without_anything_the_default_rule_decides() -> None:
    assert scored_window(AS_STATED, None, 20) == ScoredWindow(rule=SKIP_QUARTER, first=5, last=19)
    assert scored_window(AS_STATED, None, 1) is None


def test_a_window_by_hand_counts_both_ends() -> None:
    window = scored_window(window_choice(None, "3:7"), (4, 13), 14)
    assert window is not None
    assert (window.ends, window.steps, window.rule) == ((3, 7), 5, "window 3:7")


@pytest.mark.parametrize(
    ("rule", "window", "problem"),
    [
        ("skip-quarter/1", "4:13", "rule-or-window"),
        ("skip-quarters/1", None, "rule-known"),
        ("", None, "rule-known"),
        (None, "4-13", "window-form"),
        (None, "", "window-form"),
        (None, "-1:3", "window-form"),
        (None, "13:4", "window-form"),
        (None, "1:99999999999999999999", "window-form"),
    ],
)
def test_a_wrong_choice_is_refused_by_name(rule: str | None, window: str | None, problem: str) -> None:
    with pytest.raises(UsageError) as refusal:
        window_choice(rule, window)
    assert [found.rule for found in refusal.value.problems] == [problem]


def test_a_misspelt_rule_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="use skip-quarter/1"):
        window_choice("skip-quartre/1", None)


def test_the_name_of_a_window_is_the_rule_that_gives_it() -> None:
    assert rule_of((4, 13), 14) == SKIP_QUARTER
    assert rule_of((40, 49), 50) == LAST_10
    assert rule_of((4, 12), 14) == "window 4:12"
