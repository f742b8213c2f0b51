"""The page of one recipe, and its JSON beside it."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import json_ready, plain
from openrecipes.site import recipe_figures, step_pictures
from openrecipes.site.citation import citations
from openrecipes.site.pictures import memory_picture
from openrecipes.site.ranking import Entry, Row
from openrecipes.site.shelf import Pair, Shelf
from openrecipes.site.step_series import StepSeries
from openrecipes.site.templates import page
from openrecipes.site.ways import ways
from openrecipes.verdict.badge import verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a recipe stands: its row on a board, or why it is on none; and its pages beside others."""

    row: Row | None
    why_not: str | None
    pairs: tuple[Pair, ...] = ()


def recipe_page(
    shelf: Shelf, entry: Entry, place: Place, *, text: str, series: StepSeries | None, repository: str | None
) -> str:
    """The page of a recipe; `text` is its file's, `repository` the address below which its file lies."""
    recipe = entry.recipe
    here = shelf.recipe_page(entry.name)
    found = verdict(recipe)
    window = recipe.result.window
    drawn = (
        step_pictures.step_picture(series, window),
        step_pictures.loss_picture(series),
        memory_picture(recipe),
        step_pictures.ledger_picture(series),
    )
    return page(
        "recipe.html.j2",
        here,
        entry=entry,
        recipe=recipe,
        stem=entry.name.rpartition("/")[2],
        place=place,
        verdict=found,
        text=text,
        command=recipe.run.rstrip("\n"),
        headline=_headline(recipe),
        figures=_figures(recipe),
        interval=recipe_figures.interval(recipe),
        checks=_checks(recipe),
        tests=[recipe_figures.component_test(test) for test in _tests(recipe)],
        stack=[(name.replace("_", " "), value) for name, value in recipe.stack if value is not None],
        ways=ways(recipe, entry.name),
        pictures=[picture for picture in drawn if picture],
        steps=f"{shelf.recipe_addresses[entry.name]}.steps.json" if series else None,
        board_address=shelf.board_addresses[recipe.model, recipe.gpu.type],
        addresses=shelf,
        citations=citations([recipe.author]),
        file=f"recipes/{entry.name}.yaml",
        in_repository=f"{repository}/recipes/{quote(entry.name)}.yaml" if repository else None,
    )


def recipe_document(shelf: Shelf, entry: Entry, place: Place) -> dict[str, Any]:
    """The recipe with its badge and its place, as the JSON beside its page says it."""
    found = verdict(entry.recipe)
    return {
        "name": entry.name,
        "file": f"recipes/{entry.name}.yaml",
        "page": shelf.recipe_page(entry.name),
        "board": shelf.board_addresses[entry.recipe.model, entry.recipe.gpu.type],
        "rank": place.row.rank if place.row else None,
        "not_ranked": place.why_not,
        "badge": found.badge,
        "why": list(found.why),
        "recipe": json_ready(plain(entry.recipe)),
    }


def _headline(recipe: Recipe) -> tuple[recipe_figures.Figure, ...]:
    return (
        recipe_figures.throughput(recipe),
        recipe_figures.price(recipe),
        recipe_figures.mfu(recipe),
        recipe_figures.spread(recipe),
    )


def _figures(recipe: Recipe) -> tuple[recipe_figures.Figure, ...]:
    return (*_headline(recipe), recipe_figures.measured(recipe), recipe_figures.gpu_hours(recipe))


def _checks(recipe: Recipe) -> dict[str, recipe_figures.Figure]:
    """The two comparisons with a reference, by name; one of configurations only where there is evidence of any kind."""
    found = recipe.correctness
    checks = {"convergence": recipe_figures.convergence(found.convergence if found else None)}
    return checks | ({"configuration": recipe_figures.configuration(found)} if found else {})


def _tests(recipe: Recipe) -> tuple[Any, ...]:
    return recipe.correctness.component_tests if recipe.correctness else ()
