"""Rows that a recipe asks for, and rows compared with what a recipe says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from varied_recipes import PUBLISHED, SMOKE

from openrecipes.problems import Problem, ProblemsError
from openrecipes.recipe.read import LocatedRecipe, parse_recipe
from openrecipes.rows.against_recipe import against_recipe, compared, pinned_tokenizer
from openrecipes.rows.build import build
from openrecipes.rows.embedded_tokenizer import EMBEDDED_SHA256
from openrecipes.rows.manifest import manifest_path
from openrecipes.rows.named_source import named_source
from openrecipes.rows.recipe_rows import recipe_settings
from openrecipes.rows.source import open_source
from openrecipes.rows.verify import Verified, verify

PINNED = "5f9e4d4901a92b997e463c1f46055088b6cca5ca61a6522d1b9f64c4bb81cb42"


def recipe(path: Path, **changes: str) -> LocatedRecipe:
    """The recipe of a file with some lines changed: `rows="7"` sets the first line `rows:` with a number."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for key, value in changes.items():
        indents = "      " if key != "rows_sha256" else "    "
        index = next(i for i, line in enumerate(lines) if line.startswith(f"{indents}{key}:"))
        lines[index] = f"{indents}{key}: {value}\n"
    return parse_recipe("".join(lines), str(path))


def test_every_setting_comes_from_the_recipe(tmp_path: Path) -> None:
    smoke = recipe(SMOKE)
    settings = recipe_settings(smoke)
    asked = smoke.recipe.workload.dataset.build
    assert (settings.rows, settings.row_tokens, settings.seed) == (asked.rows, asked.row_tokens, asked.seed)
    assert settings.name == asked.name
    dataset = smoke.recipe.workload.dataset
    path = tmp_path / "rows.parquet"
    build(named_source(dataset.source, dataset.revision), settings, path)
    assert verify(path).with_problems(against_recipe(path, verify(path), smoke)).problems == ()


def test_a_pinned_tokenizer_is_the_only_one_unless_told_otherwise() -> None:
    published = recipe(PUBLISHED[0])
    assert pinned_tokenizer(published.recipe.workload.dataset) == PINNED
    with pytest.raises(ProblemsError) as caught:
        recipe_settings(published)
    problem = caught.value.problems[0]
    assert problem.rule == "tokenizer-pinned"
    assert PINNED in problem.what
    assert EMBEDDED_SHA256 in problem.what
    assert problem.place.line is not None
    settings = recipe_settings(published, other_tokenizer=True)
    assert settings.name == f"qwen35-tulu3-fixed8192-v1-tokenizer-{EMBEDDED_SHA256[:8]}"
    assert (settings.rows, settings.row_tokens, settings.seed) == (6400, 8192, 42)


def test_what_no_builder_here_makes_is_refused_all_at_once() -> None:
    with pytest.raises(ProblemsError) as caught:
        recipe_settings(recipe(SMOKE, loss_mask="qwen3", padding_tokens="5"))
    assert sorted(problem.rule for problem in caught.value.problems) == ["loss-mask-known", "no-padding"]


@pytest.fixture
def rows(
    tmp_path: Path, jsonl: Callable[..., Path], chats: Callable[[int], list[dict[str, Any]]]
) -> tuple[Path, Verified]:
    path = tmp_path / "rows.parquet"
    settings = recipe_settings(recipe(SMOKE, rows="10", row_tokens="32"))
    build(open_source(jsonl(chats(50))), settings, path)
    return path, verify(path)


def differing(found: tuple[Path, Verified], **changes: str) -> list[Problem]:
    given = {"rows": "10", "row_tokens": "32", "rows_sha256": "null", "supervised_token_ratio": "null"}
    return list(against_recipe(*found, recipe(SMOKE, **{**given, **changes})))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rows", "11"),
        ("row_tokens", "33"),
        ("padding_tokens", "1"),
        ("seed", "7"),
        ("supervised_token_ratio", "0.123"),
        ("loss_mask", "qwen3"),
        ("tokenizer", f"another (tokenizer.json sha256 {PINNED})"),
    ],
)
def test_each_difference_from_the_recipe_is_an_error_with_its_key(
    rows: tuple[Path, Verified], key: str, value: str
) -> None:
    problems = differing(rows, **{key: value})
    assert [problem.place.key for problem in problems] == [f"workload.dataset.build.{key}"]
    assert problems[0].severity == "error"
    assert "smoke-dp2.yaml" in problems[0].what


def test_a_ratio_is_compared_to_the_digits_that_the_recipe_prints(rows: tuple[Path, Verified]) -> None:
    ratio = rows[1].supervised_token_ratio
    assert differing(rows, supervised_token_ratio=str(round(ratio, 3))) == []
    assert len(differing(rows, supervised_token_ratio=str(round(ratio + 0.002, 3)))) == 1


def test_the_hash_of_a_known_form_must_agree(rows: tuple[Path, Verified]) -> None:
    assert differing(rows, rows_sha256=str(rows[1].rows_sha256)) == []
    (problem,) = differing(rows, rows_sha256="a" * 64)
    assert (problem.severity, problem.rule) == ("error", "rows-as-recipe-says")


def test_the_published_hash_cannot_be_compared_and_this_is_said(rows: tuple[Path, Verified]) -> None:
    published = recipe(PUBLISHED[0]).recipe.workload.dataset
    (problem,) = differing(rows, rows_sha256=str(published.rows_sha256))
    assert (problem.severity, problem.rule) == ("warning", "rows-hash-not-comparable")
    assert "cannot be compared" in problem.what


def test_the_published_files_own_bytes_settle_it(rows: tuple[Path, Verified]) -> None:
    published = recipe(PUBLISHED[0]).recipe.workload.dataset
    changes = {"rows_sha256": str(published.rows_sha256), "parquet_sha256": rows[1].parquet_sha256}
    assert differing(rows, **changes) == []


def test_rows_that_a_hash_of_the_recipe_names_need_no_manifest(rows: tuple[Path, Verified]) -> None:
    path, found = rows
    manifest_path(path).unlink()
    given = {"rows": "10", "row_tokens": "32", "supervised_token_ratio": "null"}
    named = recipe(SMOKE, **given, rows_sha256=str(found.rows_sha256))
    (problem,) = compared(path, verify(path), named).problems
    assert (problem.rule, problem.severity) == ("manifest-there", "warning")
    unnamed = recipe(SMOKE, **given, rows_sha256="null")
    assert compared(path, verify(path), unnamed).exit_status == 2
