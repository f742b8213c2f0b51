import re
from collections.abc import Callable

import pytest
from good_recipes import FILE, good, text_with
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.problems import Problem, ProblemsError
from openrecipes.recipe.read import LocatedRecipe, parse_recipe


def replaced(old: str, new: str) -> LocatedRecipe:
    text = good()
    assert text.count(old) == 1
    return parse_recipe(text.replace(old, new), FILE)


def told(located: LocatedRecipe) -> list[str]:
    return [f"{problem.place.key}: {problem.what} / {problem.mend}" for problem in located.problems]


# What the file says, and what the user is told: key, what, mend.
WORDS = [
    ("  tp: 2", "  tp: two", "layout.tp: two, but tp is a whole number / write a whole number"),
    ("  tp: 2", "  tp: 2.5", "layout.tp: 2.5, but tp is a whole number / write a whole number"),
    ("  tp: 2", "  tp:", "layout.tp: tp is empty, but must be a whole number / write a whole number"),
    (
        "  tp: 2",
        "  tp: '2'",
        "layout.tp: 2 is quoted, so it is text, but tp is a whole number / write a whole number, without quotes",
    ),
    ("  tp: 2", "  tp: true", "layout.tp: true, but tp is a whole number / write a whole number"),
    ("  tp: 2", "  tp: [2]", "layout.tp: a list, but tp is a whole number / write a whole number"),
    ("  tp: 2", "  tp: -2", "layout.tp: -2, but tp is at least 1 / write a number that is at least 1"),
    (
        "  tp: 2",
        "  tp: 99999999",
        "layout.tp: 99999999, but tp is at most 1,048,576 / write a number that is at most 1,048,576",
    ),
    ("mfu: 0.054", "mfu: 0", "result.mfu: 0, but mfu is above 0 / write a number that is above 0"),
    ("mfu: 0.054", "mfu: .nan", "result.mfu: .nan, but mfu is a finite number / write a finite number"),
    ("mfu: 0.054", "mfu: high", "result.mfu: high, but mfu is a number / write a number"),
    ("cuda: '12.9'", "cuda: 12.9", "stack.cuda: 12.9 is read as a number, but cuda is text / quote it: '12.9'"),
    (
        "cuda: '12.9'",
        "cuda: 2026-10-11",
        "stack.cuda: 2026-10-11 is read as a day, but cuda is text / quote it: '2026-10-11'",
    ),
    ("cuda: '12.9'", "cuda: true", "stack.cuda: true is read as a truth value, but cuda is text / quote it: 'true'"),
    ("cuda: '12.9'", "cuda: {a: 1}", "stack.cuda: a block, but cuda is text / write text"),
    ("profiler: false", "profiler: 0", "result.profiler: 0, but profiler is true or false / write true or false"),
    (
        "profiler: false",
        "profiler: 'false'",
        "result.profiler: false is quoted, so it is text, but profiler is true or false"
        " / write true or false, without quotes",
    ),
    (
        "measured: 2026-10-11",
        "measured: soon",
        "result.measured: soon, but measured is a day / write a day such as 2026-10-11",
    ),
    (
        "measured: 2026-10-11",
        "measured: 20261011",
        "result.measured: 20261011, but measured is a day / write a day such as 2026-10-11",
    ),
    (
        "status: verified",
        "status: verifed",
        "status: verifed, but status is one of verified, measured, smoke, draft / write verified",
    ),
    (
        "status: verified",
        "status: done",
        "status: done, but status is one of verified, measured, smoke, draft / write one of them",
    ),
    (
        "  dispatcher: alltoall",
        "  dispatcher: a2a",
        "layout.dispatcher: a2a, but dispatcher is one of alltoall, allgather, flex, null / write one of them",
    ),
    ("schema_version: 1", "schema_version: '1'", "schema_version: 1 is quoted, so it is text / remove the quotes: 1"),
    ("schema_version: 1", "schema_version: 2", "schema_version: 2, but schema_version is 1 / write 1"),
    ("rows: SFT conversations", "rows: ''", "workload.rows: rows is empty / write what a row is, in words"),
    (
        "  instance: AWS",
        "  instanse: AWS",
        "gpu.instanse: instanse is no key of gpu / write instance, or remove the line",
    ),
    (
        "    license: ODC-By 1.0\n",
        "",
        "workload.dataset.license: license is missing / add license: licence of the conversations",
    ),
    ("  - 4\n  - 13\n", "  - 4\n", "result.window: 1 item, but window has 2 / write 2 items"),
    (
        "7a837641dcde9ebcac9d3ed5ed84ddd941fc9bfc173606cc701e9a3f51c307f1",
        "7A83",
        "workload.dataset.rows_sha256: 7A83 is not 64 hexadecimal digits in lower case / write what sha256sum prints",
    ),
    (
        "env:\n",
        "env:\n  A-B: x\n",
        "env.A-B: A-B is not letters, digits and _, not a digit first / rename the variable",
    ),
    ("env:\n", "env:\n  AB: 1\n", "env.AB: 1 is read as a number, but AB is text / quote it: '1'"),
    (
        "patches:\n- NVIDIA",
        "patches: NVIDIA",
        "patches: NVIDIA/Megatron-LM pull request 3575, but patches is a list / write `- item` lines, or [] for none",
    ),
    (
        "date: 2026-10-11",
        "date: x",
        "correctness.component_tests[0].date: x, but date is a day / write a day such as 2026-10-11",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), WORDS, ids=[new[:40] or "left out" for _, new, _ in WORDS])
def test_a_mistake_is_told_in_the_users_words(old: str, new: str, words: str) -> None:
    located = replaced(old, new)
    assert told(located) == [words]
    assert not located.complete


def test_a_mistake_has_its_own_line() -> None:
    located = replaced("  tp: 2", "  tp: two")
    (problem,) = located.problems
    assert problem.place.line is not None
    assert located.text.splitlines()[problem.place.line - 1] == "  tp: two"


def test_a_missing_key_has_the_line_of_its_block() -> None:
    located = replaced("    license: ODC-By 1.0\n", "")
    (problem,) = located.problems
    assert problem.place.line is not None
    assert located.text.splitlines()[problem.place.line - 1] == "  dataset:"


def test_all_mistakes_come_in_order_of_line() -> None:
    text = good()
    for old, new in (
        ("  tp: 2", "  tp: two"),
        ("mfu: 0.054", "mfu: 1e-2"),
        ("count: 128", "count: many"),
        ("seed: 42", "sead: 42"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    located = parse_recipe(text, FILE)
    assert [problem.place.key for problem in located.problems] == [
        "gpu.count",
        "workload.dataset.build.sead",
        "layout.tp",
        "result.mfu",
    ]
    lines = [problem.place.line or 0 for problem in located.problems]
    assert lines == sorted(lines)


def test_a_field_that_cannot_be_read_is_absent_and_the_rest_is_there() -> None:
    recipe = replaced("  tp: 2", "  tp: two").recipe
    with pytest.raises(AttributeError):
        _ = recipe.layout.tp
    assert recipe.layout.pp == 4
    assert recipe.gpu.count == 128
    assert recipe.correctness is not None
    assert recipe.correctness.component_tests[0].gpu == "H200"


def test_an_unread_field_does_not_fall_back_to_its_default() -> None:
    text = good().replace("status: verified\n", "status: verified\ntrainer: slim\n")
    with pytest.raises(AttributeError):
        _ = parse_recipe(text, FILE).recipe.trainer
    assert parse_recipe(good(), FILE).recipe.trainer == "slime"


def test_an_item_of_a_list_that_cannot_be_read_takes_its_list_along() -> None:
    located = replaced("date: 2026-10-11", "date: x")
    with pytest.raises(AttributeError):
        _ = located.recipe.correctness.component_tests  # type: ignore[union-attr]
    assert located.recipe.correctness is not None
    assert located.recipe.correctness.configuration == "pass"


def test_what_yaml_reads_otherwise_is_told_once_and_not_taken() -> None:
    located = replaced("mfu: 0.054", "mfu: 5e-2")
    assert [problem.rule for problem in located.problems] == ["yaml-number-as-text"]
    with pytest.raises(AttributeError):
        _ = located.recipe.result.mfu


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n",
        "gpu: {}\n",
        "gpu: 1\n",
        "layout: []\nresult: null\n",
        "run: {run: {run: 1}}\n",
        "env: {1: 2}\n",
        "arguments: {a: {b: 1}}\n",
    ],
)
def test_small_files_are_read_to_problems(text: str) -> None:
    located = parse_recipe(text, "f.yaml")
    assert located.problems
    assert not located.complete


def test_huge_integers_are_out_of_range_not_a_crash() -> None:
    for number in ("9" * 19, "9" * 300, "-" + "9" * 300):
        located = replaced("  tp: 2", f"  tp: {number}")
        assert [problem.place.key for problem in located.problems] == ["layout.tp"]


junk = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.lists(st.integers(), max_size=3)
    | st.dictionaries(st.text(max_size=4), st.integers(), max_size=3)
)
KEYS = [
    "gpu",
    "gpu.count",
    "layout",
    "layout.tp",
    "layout.recompute",
    "layout.layer_split",
    "result",
    "result.window",
    "result.measured",
    "correctness",
    "correctness.component_tests",
    "env",
    "env.A",
    "arguments",
    "arguments.lr",
    "patches",
    "run",
    "stack",
    "stack.cuda",
    "workload.dataset.build",
    "author",
    "model",
    "status",
    "schema_version",
]


@given(st.dictionaries(st.sampled_from(KEYS), junk, min_size=1, max_size=4))
def test_any_value_anywhere_is_read_or_told_in_plain_words(changes: dict[str, object]) -> None:
    ordered = dict(sorted(changes.items(), key=lambda item: -item[0].count(".")))
    try:
        located = parse_recipe(text_with(good(), ordered, derived=()), FILE)
    except ProblemsError as error:
        problems: tuple[Problem, ...] = error.problems
    else:
        problems = located.problems
        assert located.complete or problems
    for problem in problems:
        for word in ("NoneType", "dict", "tuple", "pydantic", "Input should", "valid integer", "Traceback", "[type="):
            assert not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", str(problem)), str(problem)


@pytest.mark.parametrize("change", [str.upper, lambda text: text[: len(text) // 2], lambda text: text.replace(":", "")])
def test_spoilt_files_end_in_problems(change: Callable[[str], str]) -> None:
    try:
        problems: tuple[Problem, ...] = parse_recipe(change(good()), FILE).problems
    except ProblemsError as error:
        problems = error.problems
    assert problems
