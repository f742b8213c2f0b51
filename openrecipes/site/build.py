"""The site as files, made from a library's recipes alone; equal recipes give equal bytes.

build(library, base_url=None, repository=None)   -> Site(files, shelf, problems)
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openrecipes.located_yaml import read_text
from openrecipes.problems import Problem, in_order
from openrecipes.recipe.library import Library
from openrecipes.site import addresses, feed
from openrecipes.site.board_page import board_page, boards_document, json_address
from openrecipes.site.diff_page import comparison, diff_page
from openrecipes.site.home_page import home_document, home_page
from openrecipes.site.ranking import Entry, read_entries
from openrecipes.site.recipe_page import Place, recipe_document, recipe_page
from openrecipes.site.reference_pages import catalogue_page, glossary_page, submit_page
from openrecipes.site.shelf import Pair, Shelf, shelf
from openrecipes.site.step_series import published_series
from openrecipes.site.templates import FOLDER

_ASSETS: Final = (addresses.STYLE, addresses.SCRIPT, addresses.ICON)


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """Every file of the site by its address, what it was made from, and what was left out and why."""

    files: Mapping[str, bytes]
    shelf: Shelf
    problems: tuple[Problem, ...]


def build(library: Library, *, base_url: str | None = None, repository: str | None = None) -> Site:
    """The site of a library. `base_url` is where it will be read, `repository` where the recipes' files are."""
    entries, problems = read_entries(library)
    found = shelf(entries)
    warnings = list(problems)
    files = dict(_pages(found, repository, warnings))
    files |= {name: (FOLDER / name).read_bytes() for name in _ASSETS}
    files[addresses.FEED] = feed.feed(found, base_url).encode()
    files["robots.txt"] = feed.robots(base_url).encode()
    if base_url:
        pages = sorted(name for name in files if name.endswith(".html"))
        files["sitemap.xml"] = feed.sitemap(pages, base_url).encode()
    return Site(files=dict(sorted(files.items())), shelf=found, problems=in_order(warnings))


def _pages(found: Shelf, repository: str | None, problems: list[Problem]) -> Iterator[tuple[str, bytes]]:
    yield addresses.HOME, home_page(found).encode()
    yield "index.json", _json(home_document(found))
    yield addresses.GLOSSARY, glossary_page().encode()
    yield addresses.CATALOGUE, catalogue_page().encode()
    yield addresses.SUBMIT, submit_page().encode()
    for key, address in found.board_addresses.items():
        yield address, board_page(found, key).encode()
        yield json_address(found, key), _json(boards_document(found, key))
    by_name = {entry.name: entry for entry in found.entries}
    pairs = [pair for board in found.ranking.boards for pair in found.pairs(board)]
    for pair in pairs:
        compared = comparison(pair, by_name)
        yield pair.address, diff_page(found, pair, by_name, compared).encode()
        yield pair.address.removesuffix(".html") + ".json", _json(compared.document())
    places = _places(found, pairs)
    for entry in found.entries:
        yield from _recipe(found, entry, places[entry.name], repository, problems)


def _recipe(
    found: Shelf, entry: Entry, place: Place, repository: str | None, problems: list[Problem]
) -> Iterator[tuple[str, bytes]]:
    text = read_text(Path(entry.file))
    series, wrong = published_series(Path(entry.file), entry.recipe)
    problems.extend(wrong)
    stem = found.recipe_addresses[entry.name]
    html = recipe_page(found, entry, place, text=text, series=series, repository=repository)
    yield f"{stem}.html", html.encode()
    yield f"{stem}.json", _json(recipe_document(found, entry, place))
    yield f"{stem}.yaml", text.encode()
    if series:
        yield f"{stem}.steps.json", _json(series.model_dump(mode="json"))


def _places(found: Shelf, pairs: list[Pair]) -> dict[str, Place]:
    beside: dict[str, list[Pair]] = {}
    for pair in pairs:
        for row in (pair.better, pair.other):
            beside.setdefault(row.recipe, []).append(pair)
    ranked = {row.recipe: row for row, _ in found.places()}
    reasons = {one.recipe: one.reason for one in found.ranking.unranked}
    places = {}
    for entry in found.entries:
        # The best has a page with each of the others: its own page names the next ones, the others name it.
        pairs_here = tuple(beside.get(entry.name, ())[:5])
        places[entry.name] = Place(row=ranked.get(entry.name), why_not=reasons.get(entry.name), pairs=pairs_here)
    return places


def _json(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n").encode(
        "utf-8", "replace"
    )
