"""A board in a real browser: order, sorting, filtering, copying, and all of it without a network."""

from pathlib import Path
from typing import Any

import pytest

from openrecipes.recipe.library import Library
from openrecipes.site.build import Site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tool("chromium", "module:playwright", "module:axe_playwright_python"),
]
BOARD = "boards/qwen3.5-397b-a17b/h200.html"
BEST = "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
Built = tuple[Path, Site, Library]


def column(page: Any, number: int) -> list[str]:
    """The visible cells of a column of the ranking, from the top."""
    cells = page.locator(f"table.ranking tbody tr:visible td:nth-child({number})")
    return [text.strip() for text in cells.all_text_contents()]


def test_ranks_are_in_order(visit: Any, built: Built) -> None:
    page = visit(BOARD)
    assert column(page, 1) == ["#1", "#2", "#3", "#4", "#5", "#6"]
    assert column(page, 2) == ["1,010.2", "545.3", "506.7", "469.2", "400.0", "99.5"]
    [board] = built[1].shelf.boards["Qwen3.5-397B-A17B", "H200"]
    links = page.locator("table.ranking a.go")
    targets = [links.nth(place).evaluate("link => link.href") for place in range(links.count())]
    assert targets == [(built[0] / built[1].shelf.recipe_page(row.recipe)).as_uri() for row in board.rows]


def test_columns_sort_by_value_by_mouse_and_by_keyboard(visit: Any) -> None:
    page = visit(BOARD)
    price = page.get_by_role("button", name="$ / 1M tokens")
    price.click()
    assert column(page, 3) == ["$2.17", "$4.03", "$4.34", "$4.68", "$5.49", "$22.09"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    price.focus()
    page.keyboard.press("Enter")
    assert column(page, 3) == ["$22.09", "$5.49", "$4.68", "$4.34", "$4.03", "$2.17"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Author").click()
    assert column(page, 7) == ["alpha", "ATTUNE", "ATTUNE", "ATTUNE", "Beta", "Zeta"]
    assert page.locator("th[aria-sort]").count() == 1
    page.get_by_role("button", name="#", exact=True).click()
    assert column(page, 1) == ["#1", "#2", "#3", "#4", "#5", "#6"]
    assert page.get_by_role("status").text_content() == "Sorted by #, ascending"


def test_the_filter_leaves_what_has_every_word(visit: Any) -> None:
    page = visit(BOARD)
    box = page.get_by_label("Filter")
    box.fill("attune TP1")
    assert column(page, 2) == ["506.7"]
    assert page.locator(".count").text_content() == "1 of 6"
    box.fill("nobody")
    assert column(page, 2) == []
    box.fill("")
    assert len(column(page, 2)) == 6


def test_the_citation_is_copied_exactly(visit: Any) -> None:
    page = visit(BOARD)
    page.get_by_role("button", name="Copy BibTeX").click()
    page.get_by_text("Copied", exact=True).first.wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("@article{fan2026attune,\n  title   = {{ATTUNE:")
    assert copied.endswith("\n}\n")


@pytest.mark.parametrize("name", ["attune-tp2-pp4-ep32", "hostile"])
def test_a_recipe_is_copied_and_downloaded_byte_for_byte(visit: Any, built: Built, name: str) -> None:
    [entry] = [one for one in built[1].shelf.entries if name in one.name]
    source = (built[2].root / f"{entry.name}.yaml").read_bytes()
    page = visit(built[1].shelf.recipe_page(entry.name))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_bytes() == source
    page.locator('button[data-copies="recipe-text"]').click()
    page.get_by_text("Copied", exact=True).first.wait_for()
    assert page.evaluate("navigator.clipboard.readText()").encode() == source


def test_the_command_is_copied_exactly(visit: Any, built: Built) -> None:
    page = visit(f"{BEST}.html")
    page.locator('button[data-copies="command-text"]').click()
    page.get_by_text("Copied", exact=True).first.wait_for()
    [entry] = [one for one in built[1].shelf.entries if one.name.endswith("attune-tp2-pp4-ep32")]
    assert page.evaluate("navigator.clipboard.readText()") == entry.recipe.run.rstrip("\n")


def test_without_a_script_the_page_is_complete(visit: Any) -> None:
    page = visit(BOARD, java_script_enabled=False)
    assert page.locator("table.ranking tbody tr:visible").count() == 6
    assert page.get_by_text("@article{fan2026attune").is_visible()
    assert page.locator("button:visible, input:visible").count() == 0


def test_hostile_text_does_nothing(visit: Any, built: Built) -> None:
    [entry] = [one for one in built[1].shelf.entries if one.name.startswith("hostile/")]
    shelf = built[1].shelf
    for address in (
        shelf.recipe_page(entry.name),
        shelf.board_addresses[entry.recipe.model, "H200"],
        "index.html",
    ):
        page = visit(address, width=390)
        assert page.evaluate("window.broken") is None
        assert page.locator("main img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.locator("main").get_by_text("<script>window.broken = 1</script>").first.is_visible()


def test_a_text_that_turns_round_is_named_and_turns_nothing(visit: Any, built: Built) -> None:
    [entry] = [one for one in built[1].shelf.entries if one.name.startswith("hostile/")]
    page = visit(built[1].shelf.recipe_page(entry.name))
    name = page.locator("#command-text .hidden-character").first
    assert name.evaluate("element => getComputedStyle(element, '::before').content") == '"U+202E"'
    # What follows is not mirrored: each letter stands to the right of the one before it.
    places = page.evaluate(
        """() => {
          const text = document.querySelector("#command-text .hidden-character").nextSibling;
          return [0, 1, 2, 3, 4, 5].map((at) => {
            const range = document.createRange();
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            return range.getBoundingClientRect().left;
          });
        }"""
    )
    assert places == sorted(places)
    assert len(set(places)) == 6
