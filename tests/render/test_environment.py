"""Environment values: literal or evaluated by the node's shell."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.render.argument import EnvironmentValue
from openrecipes.render.environment import environment, environment_problems, shell_word

NVLS = '$([ "$NVLINK_COUNT" -gt 0 ] && echo 1 || echo 0)'


def one(value: str) -> EnvironmentValue:
    return environment({"X": value})[0]


def evaluated(value: str, **variables: str) -> str:
    script = f'export X={shell_word(one(value))}; printf %s "$X"'
    return subprocess.run(["bash", "-c", script], capture_output=True, check=True, env=variables).stdout.decode()


@pytest.mark.parametrize("value", ["1", "a b", "$HOME", "${HOME}", "`id`", "$", "a$b", "", "it's", "$ (x)"])
def test_a_value_without_a_command_substitution_is_literal(value: str) -> None:
    assert one(value).kind == "literal"
    assert evaluated(value, HOME="/root") == value


def test_a_lone_substitution_stays_as_it_is_written() -> None:
    assert one(NVLS).kind == "shell"
    assert shell_word(one(NVLS)) == NVLS
    assert evaluated(NVLS, NVLINK_COUNT="56") == "1"
    assert evaluated(NVLS, NVLINK_COUNT="0") == "0"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a $(echo b)  c", "a b  c"),
        ("$(echo 'a  b')/x", "a  b/x"),
        ("$(echo a)$(echo b)", "ab"),
        ("${A}:$(echo b)", "one two:b"),
        ("$A:$(echo b)", "one two:b"),
        ("x; touch /tmp/no; $(echo b)", "x; touch /tmp/no; b"),
        ("`echo no` $(echo b)", "`echo no` b"),
        ('"quoted" $(echo b)', '"quoted" b'),
        ("$(echo \"$(echo in ')' side)\")", "in ) side"),
        ("cost $5 $(echo b)", "cost $5 b"),
    ],
)
def test_only_the_evaluated_parts_of_a_value_are_run(value: str, expected: str) -> None:
    assert evaluated(value, A="one two") == expected


@pytest.mark.parametrize("value", ["$(echo", "$(echo '", '$(echo "a)', "$(a $(b)", "$(echo ')'"])
def test_a_substitution_that_is_never_closed_is_a_problem(value: str) -> None:
    assert [problem.rule for problem in environment_problems({"A": "1", "X": value})] == ["env-shell"]


def test_a_nul_is_a_problem() -> None:
    assert [problem.rule for problem in environment_problems({"X": "a\0b"})] == ["env-text"]


def test_sound_values_are_no_problem() -> None:
    assert list(environment_problems({"A": "1", "B": NVLS, "C": "${X}:$(echo y)"})) == []


@given(depth=st.integers(1, 5000))
@settings(max_examples=5)
def test_deep_nesting_ends_without_recursion(depth: int) -> None:
    assert shell_word(one("$(" * depth + ")" * depth)) == "$(" * depth + ")" * depth


@given(value=st.text(alphabet="$(){}'\"\\ `ab;\n", max_size=20).filter(lambda value: "$(" not in value))
@settings(max_examples=60, deadline=None)
def test_any_literal_survives_the_shell(value: str) -> None:
    assert list(environment_problems({"X": value})) == []
    assert evaluated(value) == value
