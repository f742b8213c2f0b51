"""One block is replaced and every other byte of the recipe stays."""

import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.located_yaml import located_yaml
from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import parse_recipe
from openrecipes.recipe.result import Result
from openrecipes.recipe.write import plain, recipe_text
from openrecipes.write_back.result_patch import BlockName, text_with_block
from openrecipes.write_back.unchanged import prove_unchanged

RECIPES = Path(__file__).parent.parent.parent / "recipes"
FILES = sorted(RECIPES.glob("*/*/*.yaml"))
TEXT = (RECIPES / "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml").read_text()
LINES = TEXT.split("\n")
FIRST = LINES.index("result:")
LAST = LINES.index("correctness:")

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=200)
POSITIVE = st.floats(1e-4, 1e9).map(lambda value: round(value, 4))
RESULTS = st.builds(
    Result,
    tokens_per_s_per_gpu=POSITIVE,
    usd_per_million_tokens=st.none() | POSITIVE,
    step_time_cv_percent=POSITIVE,
    mfu=st.none() | POSITIVE,
    mfu_note=st.none() | WORDS,
    active_params=st.just(parse_recipe(TEXT, "x").recipe.result.active_params),
    measured=st.none() | st.dates(datetime.date(2000, 1, 1), datetime.date(2099, 12, 31)),
    steps_per_run=st.integers(2, 100),
    window=st.tuples(st.integers(1, 50), st.integers(50, 99)),
    window_tokens=st.integers(1, 10**12),
    runs=st.integers(1, 9),
    profiler=st.none() | st.booleans(),
    gpu_hours=st.none() | POSITIVE,
    gpu_hours_note=st.none() | WORDS,
).flatmap(
    lambda result: st.fixed_dictionaries(
        {},
        optional={
            "rule": st.just("skip-quarter/1"),
            "log_sha256": st.just("a" * 64),
            "unsteady": st.just(True),
            "deviations": st.lists(WORDS, min_size=1, max_size=3).map(tuple),
        },
    ).map(lambda extra: Result.model_validate({**result.model_dump(exclude_unset=True), **extra}))
)


def patched(text: str, value: dict[str, Any], key: BlockName = "result") -> str:
    return text_with_block(text, "recipe.yaml", key, value)


def outside(text: str, key: str = "result", after: str = "correctness") -> tuple[str, str]:
    """The text before the block's key and from the next key on."""
    return text[: text.index(f"\n{key}:")], text[text.index(f"\n{after}:") :]


@settings(max_examples=40)
@given(RESULTS)
def test_all_bytes_outside_the_block_are_unchanged(result: Result) -> None:
    new = patched(TEXT, plain(result))
    assert outside(new) == outside(TEXT)
    assert parse_recipe(new, "x").recipe.result == result


@settings(max_examples=30)
@given(RESULTS)
def test_the_text_is_the_canonical_one(result: Result) -> None:
    located = parse_recipe(TEXT, "x")
    recipe = located.recipe.model_copy(update={"result": result})
    name = "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"
    assert patched(TEXT, plain(result)) == recipe_text(recipe, name)


@settings(max_examples=20)
@given(RESULTS, RESULTS)
def test_the_last_write_is_what_counts(one: Result, other: Result) -> None:
    twice = patched(patched(TEXT, plain(one)), plain(other))
    assert parse_recipe(twice, "x").recipe.result == other
    assert patched(twice, plain(other)) == twice


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("key", ["result", "stack"])
def test_writing_what_is_there_changes_nothing(path: Path, key: BlockName) -> None:
    text = path.read_text()
    assert patched(text, plain(getattr(parse_recipe(text, "x").recipe, key)), key) == text


def test_there_are_recipes_to_try() -> None:
    assert len(FILES) >= 4


def new_result(**changes: object) -> dict[str, Any]:
    return {**plain(parse_recipe(TEXT, "x").recipe.result), "tokens_per_s_per_gpu": 600.0, **changes}


@st.composite
def commented(draw: st.DrawFn) -> tuple[str, list[str]]:
    """The recipe with comments in its block that have a place: above entries and beside them."""
    lines, comments = list(LINES), []
    for number in range(LAST - 1, FIRST - 1, -1):
        is_entry = (lines[number].startswith("  ") and not lines[number].startswith(("   ", "  -"))) or number == FIRST
        if not is_entry:
            continue
        if draw(st.booleans()) and not lines[number].endswith(":"):
            comments.append(f"# beside {number} 'quoted\" : - [x]")
            lines[number] += "  " + comments[-1]
        if draw(st.booleans()) and number != FIRST:
            comments.append(f"# above {number}")
            lines[number:number] = [" " * draw(st.integers(0, 6)) + comments[-1], ""]
    return "\n".join(lines), comments


@settings(max_examples=30)
@given(commented(), RESULTS)
def test_comments_beside_and_above_entries_stay_in_their_order(made: tuple[str, list[str]], result: Result) -> None:
    text, comments = made
    value = {**plain(result), "mfu_note": None}
    new = patched(text, value)
    places = [new.index(comment) for comment in reversed(comments)]
    assert sorted(places) == sorted(set(places))
    assert [new.count(comment) for comment in comments] == [text.count(comment) for comment in comments]
    assert outside(new) == outside(text)
    assert parse_recipe(new, "x").recipe.result.tokens_per_s_per_gpu == result.tokens_per_s_per_gpu


def test_a_comment_stays_with_its_entry() -> None:
    text = TEXT.replace("  runs: 1\n", "  # how many\n  runs: 1  # one so far\n").replace(
        "result:\n", "result:  # ours\n"
    )
    new = patched(text, new_result(runs=3, rule="skip-quarter/1"))
    assert "result:  # ours\n  tokens_per_s_per_gpu: 600.0\n" in new
    assert "  # how many\n  runs: 3  # one so far\n  profiler: false\n" in new


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("  window:\n", "  window:  # steps\n", "result.window"),
        ("  - 13\n", "  # up to\n  - 13\n", "result.window"),
        ("  gpu_hours_note: GPUs x", "  gpu_hours_note: |  # so\n    GPUs x", "result.gpu_hours_note"),
    ],
)
def test_a_comment_inside_a_value_that_changes_is_never_lost(old: str, new: str, key: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    with pytest.raises(ProblemsError) as refusal:
        patched(text, new_result(window=(5, 12), gpu_hours_note="other"))
    [problem] = refusal.value.problems
    assert (problem.rule, problem.place.key) == ("write-keeps-comments", key)
    assert problem.place.line is not None
    assert "#" in text.split("\n")[problem.place.line - 1]
    kept = {key.removeprefix("result."): parse_recipe(text, "x").document.value["result"][key.removeprefix("result.")]}
    assert new.rstrip("\n") in patched(text, new_result(window=(5, 12), gpu_hours_note="other") | kept)


def test_a_comment_beside_an_entry_that_goes_is_never_lost() -> None:
    text = patched(TEXT, new_result(rule="skip-quarter/1")).replace("skip-quarter/1\n", "skip-quarter/1  # why\n")
    with pytest.raises(ProblemsError, match="would be lost"):
        patched(text, new_result())
    assert "rule: last-10/1  # why\n" in patched(text, new_result(rule="last-10/1"))


def test_an_entry_that_goes_takes_only_itself() -> None:
    text = patched(TEXT, new_result(rule="skip-quarter/1", timer="step_time"))
    assert patched(text, new_result(timer="step_time")) == text.replace("  rule: skip-quarter/1\n", "")
    assert patched(text, new_result()) == patched(TEXT, new_result())


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_stay(newline: str, mark: str) -> None:
    text = mark + TEXT.replace("\n", newline)
    new = patched(text, new_result(rule="skip-quarter/1"))
    assert new == mark + patched(TEXT, new_result(rule="skip-quarter/1")).replace("\n", newline)


def test_a_last_block_without_a_line_end_is_replaced() -> None:
    text = "\n".join(LINES[:FIRST] + LINES[LAST:-1]) + "\n" + "\n".join(LINES[FIRST:LAST])
    assert not text.endswith("\n")
    new = patched(text, new_result(rule="skip-quarter/1"))
    assert new.endswith("\n  rule: skip-quarter/1")
    assert new[: new.index("\nresult:")] == text[: text.index("\nresult:")]


def test_a_block_in_flow_form_becomes_a_block() -> None:
    flow = yaml.safe_dump({"result": plain(parse_recipe(TEXT, "x").recipe.result)}, default_flow_style=True, width=9999)
    text = (
        "\n".join(LINES[:FIRST]) + "\nresult: " + flow[len("{result: ") : -2] + "  # dense\n" + "\n".join(LINES[LAST:])
    )
    new = patched(text, new_result())
    assert "result:  # dense\n  tokens_per_s_per_gpu: 600.0\n" in new
    assert outside(new) == outside(text)


def test_a_null_block_becomes_a_block() -> None:
    text = (
        (RECIPES / "qwen3.5-moe-mini/cpu/smoke-dp2.yaml")
        .read_text()
        .replace("correctness: null", "correctness: null  # yet")
    )
    value = plain(parse_recipe(TEXT, "x").recipe.correctness)  # type: ignore[arg-type]
    new = patched(text, value, "correctness")
    assert "correctness:  # yet\n  result: pass\n" in new
    assert outside(new, "correctness", "env") == outside(text, "correctness", "env")


def test_other_indents_are_kept() -> None:
    block = [f"{'  ' if line[:2] == '  ' else ''}{line}" for line in LINES[FIRST:LAST]]
    text = "\n".join([*LINES[:FIRST], *block, *LINES[LAST:]])
    new = patched(text, new_result(window=(5, 13), rule="skip-quarter/1"))
    assert "\n    tokens_per_s_per_gpu: 600.0\n" in new
    assert "\n    window:\n    - 5\n    - 13\n" in new
    assert "\n    rule: skip-quarter/1\ncorrectness:" in new


@pytest.mark.parametrize("text", ["{result: {runs: 1}, model: x}\n", "model: x\n", " model: x\n result:\n   runs: 1\n"])
def test_a_text_that_is_not_in_block_form_is_refused(text: str) -> None:
    with pytest.raises(ProblemsError) as refusal:
        patched(text, {"runs": 2})
    assert [problem.rule for problem in refusal.value.problems] == ["write-block-form"]


def test_a_change_elsewhere_is_never_proved_unchanged() -> None:
    value = new_result()
    good = patched(TEXT, value)
    prove_unchanged(TEXT, good, "x", "result", value)
    swaps = [
        ("status: verified", "status: measured"),
        ("# An OpenRecipes", "# An openrecipes"),
        ("  dp: 16\n", "  dp:  16\n"),
        ("patches: []", "patches:   []"),
        ("600.0", "601.0"),
        ("  profiler: false\n", ""),
        ("\ncorrectness:", "\nnew: 1\ncorrectness:"),
        ("  - 13\n", "  - nothing\n"),
    ]
    for old, new in swaps:
        assert old in good
        with pytest.raises(ProblemsError) as refusal:
            prove_unchanged(TEXT, good.replace(old, new, 1), "x", "result", value)
        assert [problem.rule for problem in refusal.value.problems] == ["write-unproven"]


def test_the_block_is_found_where_its_name_also_stands_elsewhere() -> None:
    assert located_yaml(TEXT, "x").value["correctness"]["result"] == "pass"  # a nested key of the same name
    text = TEXT.replace("highlights: max", "highlights: 'result: no, max").replace(
        "GPU, no offload\n  tp", "GPU, no offload'\n  tp"
    )
    new = patched(text, new_result())
    assert parse_recipe(new, "x").recipe.layout.highlights == "result: no, max 8,192 tokens/GPU, no offload"


@pytest.mark.parametrize("words", ["\xa0", "words\xa0", "\u2003words", " words "])
def test_blanks_of_any_alphabet_at_an_end_are_written_and_read_again(words: str) -> None:
    once = patched(TEXT, new_result(deviations=(words,)))
    again = patched(once, new_result(deviations=("other", words)))
    assert parse_recipe(once, "x").recipe.result.deviations == (words,)
    assert parse_recipe(again, "x").recipe.result.deviations == ("other", words)
