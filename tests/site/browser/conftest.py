"""A site on disk and a browser that opens it: Debian's Chromium, driven by Playwright, with no way to the network."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_recipes import write_hostile
from varied_recipes import changed, published

from openrecipes.recipe.library import Library
from openrecipes.recipe.write import recipe_text
from openrecipes.site.build import Site, build
from openrecipes.site.output_folder import write_folder

ROOT = Path(__file__).resolve().parent.parent.parent.parent
FOLDER = "qwen3.5-397b-a17b/h200"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Site, Library]:
    """The shipped recipes, three more of one board, and a hostile one, as a site below a folder."""
    root = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "recipes", root / "recipes")
    for number, (rate, usd, author) in enumerate(
        [(99.5, 22.09, "Zeta"), (1010.25, 2.17, "alpha"), (400.0, 5.49, "Beta")]
    ):
        figures = {"tokens_per_s_per_gpu": rate, "usd_per_million_tokens": usd}
        changes: dict[str, Any] = {f"result.{key}": value for key, value in figures.items()}
        recipe = changed(published(), changes | {"author": {"name": author, "url": None}})
        path = f"{FOLDER}/{author.lower()}-{number}.yaml"
        (root / "recipes" / path).write_text(recipe_text(recipe, f"recipes/{path}"))
    write_hostile(root / "recipes")
    library = Library(root=root / "recipes")
    site = build(library, repository="https://git.example.org/blob/main")
    write_folder(root / "public", site.files)
    return root / "public", site, library


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, once for all tests."""
    from playwright.sync_api import sync_playwright

    # Root has no sandbox; the pages are our own.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        yield found
        found.close()


@pytest.fixture
def visit(browser: Any, built: tuple[Path, Site, Library]) -> Iterator[Any]:
    """Opens an address of the site from disk; what the page asks of the network, or complains of, fails the test."""
    complaints: list[str] = []
    contexts: list[Any] = []

    def open_page(address: str, *, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True, **options)
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{address}: console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"{address}: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"{address}: dialog: {dialog.message}"))
        page.on("requestfailed", lambda request: _only_broken_off(request, address, complaints))
        page.on("request", lambda request: _only_local(request.url, address, complaints))
        page.goto((built[0] / address).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def _only_local(url: str, address: str, complaints: list[str]) -> None:
    if not url.startswith(("file://", "blob:")):
        complaints.append(f"{address}: asked for {url}")


def _only_broken_off(request: Any, address: str, complaints: list[str]) -> None:
    """The browser itself breaks off a navigation that is a download, and the icon of a page that it leaves."""
    if request.failure != "net::ERR_ABORTED":
        complaints.append(f"{address}: failed: {request.url}: {request.failure}")
