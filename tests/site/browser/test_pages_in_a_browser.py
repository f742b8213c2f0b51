"""Every kind of page in a real browser: accessible, still, readable in the dark and on paper, at two widths."""

from pathlib import Path
from typing import Any

import pytest

from openrecipes.recipe.library import Library
from openrecipes.site.build import Site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tool("chromium", "module:playwright", "module:axe_playwright_python"),
]
Built = tuple[Path, Site, Library]
SHOTS = Path(__file__).resolve().parent.parent.parent.parent / "build" / "site-screenshots"
FOLDER = "qwen3.5-397b-a17b/h200"
PAGES = {
    "models": "index.html",
    "board": f"boards/{FOLDER}.html",
    "drafts": "boards/qwen3.5-397b-a17b/h100.html",
    "recipe": f"recipes/{FOLDER}/attune-tp2-pp4-ep32.html",
    "steps": "recipes/qwen3.5-moe-small/h200/openrecipes-tp2-ep2.html",
    "diff": f"diffs/{FOLDER}/attune-tp2-pp4-ep32--attune-tp1-pp4-ep32.html",
    "glossary": "glossary.html",
    "catalogue": "catalogue.html",
    "submit": "submit.html",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_fits(visit: Any, name: str) -> None:
    page = visit(PAGES[name], width=390)
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}-phone.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    axe_finds_nothing(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.screenshot(path=SHOTS / f"{name}-desktop.png", full_page=True)
    page.emulate_media(color_scheme="dark")
    page.screenshot(path=SHOTS / f"{name}-dark.png", full_page=True)
    axe_finds_nothing(page, runOnly={"type": "rule", "values": ["color-contrast"]})


def axe_finds_nothing(page: Any, **options: Any) -> None:
    """All of axe-core's rules on the page with its tables of data open; `options` are axe-core's."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False, **options})
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = false")
    assert [violation["id"] for violation in found.response["violations"]] == [], found.generate_report()
    assert len(found.response["passes"]) >= (1 if options else 15)


def test_axe_finds_what_is_wrong(visit: Any) -> None:
    page = visit(PAGES["board"])
    page.evaluate("document.querySelector('input').labels.forEach((label) => label.remove())")
    page.evaluate("document.querySelector('input').removeAttribute('placeholder')")
    with pytest.raises(AssertionError, match="label"):
        axe_finds_nothing(page)


@pytest.mark.parametrize("name", ["board", "recipe"])
def test_nothing_moves_while_a_page_loads(visit: Any, name: str) -> None:
    page = visit(PAGES[name])
    moved = page.evaluate(
        """() => new Promise((resolve) => {
          let sum = 0;
          new PerformanceObserver((list) => list.getEntries().forEach((entry) => (sum += entry.value)))
            .observe({ type: "layout-shift", buffered: true });
          setTimeout(() => resolve(sum), 300);
        })"""
    )
    assert moved == 0


def background(page: Any) -> list[int]:
    """Red, green and blue of the page, 0 to 255."""
    text = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in text.removeprefix("rgb(").removesuffix(")").split(",")]


def test_the_dark_scheme_is_dark_and_paper_is_light(visit: Any) -> None:
    assert background(visit(PAGES["recipe"])) == [255, 255, 255]
    page = visit(PAGES["recipe"], color_scheme="dark")
    assert max(background(page)) < 40
    bar = "getComputedStyle(document.querySelector('.chart .color-0 .rect')).fill"
    dark = page.evaluate(bar)
    page.emulate_media(media="print", color_scheme="dark")
    assert background(page) == [255, 255, 255]
    assert page.evaluate(bar) != dark
    assert not page.locator(".top nav").is_visible()


def test_a_keyboard_reaches_everything_and_sees_where_it_is(visit: Any) -> None:
    page = visit(PAGES["board"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or page.evaluate("document.activeElement === document.body")
    wanted = page.evaluate(
        "[...document.querySelectorAll('main a[href], main button, main input, main summary')].filter(one =>"
        "one.checkVisibility()).map(one => one.outerHTML.slice(0, 60))"
    )
    assert len(wanted) > 15
    assert set(wanted) <= reached


def test_every_page_opens_from_disk_without_complaint(visit: Any, built: Built) -> None:
    pages = [name for name in built[1].files if name.endswith(".html")]
    assert len(pages) > 25
    page = visit(pages[0])
    for name in pages[1:]:
        page.goto((built[0] / name).as_uri())
        assert page.locator("h1").count() == 1
