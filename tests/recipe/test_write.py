import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from varied_recipes import PUBLISHED, changed, published

from openrecipes.recipe.read import parse_recipe, read_recipe
from openrecipes.recipe.write import recipe_text

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "recipes").rglob("*.yaml"))


def _header_path(text: str) -> str:
    match = re.match(r"# (\S+)\n", text)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_what_was_read_is_written_with_the_same_bytes(path: Path) -> None:
    data = path.read_bytes()
    located = read_recipe(path)
    name = _header_path(located.text)
    assert name == path.relative_to(ROOT).as_posix()
    assert recipe_text(located.recipe, name).encode() == data


def test_all_shipped_recipes_were_seen() -> None:
    assert len(SHIPPED) >= 4
    assert set(PUBLISHED) <= set(SHIPPED)


any_text = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\n\t\x85"),
    min_size=1,
    max_size=60,
).filter(lambda text: "￾" not in text and "￿" not in text)


@given(summary=any_text, run=any_text, revision=st.from_regex(r"[0-9]{1,6}e[0-9]{1,6}", fullmatch=True))
def test_any_text_in_a_recipe_is_read_back_as_it_was(summary: str, run: str, revision: str) -> None:
    recipe = changed(published(), {"layout.summary": summary, "run": run, "workload.dataset.revision": revision})
    located = parse_recipe(recipe_text(recipe, "recipes/a.yaml"), "a.yaml")
    assert located.problems == ()
    assert located.recipe == recipe


@given(st.floats(min_value=1e-12, max_value=1e15, allow_nan=False))
def test_any_figure_is_read_back_as_it_was(figure: float) -> None:
    recipe = changed(published(), {"result.mfu": figure})
    located = parse_recipe(recipe_text(recipe, "recipes/a.yaml"), "a.yaml")
    assert located.problems == ()
    assert located.recipe.result.mfu == figure


def test_whole_numbers_stay_whole() -> None:
    text = recipe_text(published(), "recipes/a.yaml")
    assert "memory_gb: 141\n" in text
