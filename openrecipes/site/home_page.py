"""The page of all models: the best of each on every GPU; and the JSON of all boards beside it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openrecipes.catalog.headlines import headlines_of
from openrecipes.catalog.models import find_model
from openrecipes.site.addresses import HOME
from openrecipes.site.other_gpus import on_gpus, without_board
from openrecipes.site.recipe_figures import ANCHORS
from openrecipes.site.shelf import Shelf, gpu_place
from openrecipes.site.templates import page


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuLine:
    """A model's best on one GPU: of its first board, else as a headline, else nothing measured.

    `address` is the board's page, `recipe` the page of the recipe that the figures are of.
    """

    gpu: str
    address: str | None
    rate: float | None
    usd: float | None
    gpus: int | None
    layout: str | None
    recipe: str | None
    recipes: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """A model with a line for each GPU."""

    name: str
    facts: str | None
    lines: tuple[GpuLine, ...]


def home_page(shelf: Shelf) -> str:
    """The page of all models; those with a ranked result come first."""
    cards = [_card(shelf, model) for model in shelf.models()]
    in_order = sorted(cards, key=lambda card: not any(line.rate for line in card.lines))
    return page("home.html.j2", HOME, models=in_order, anchors=ANCHORS)


def home_document(shelf: Shelf) -> dict[str, Any]:
    """All boards, headlines and unranked recipes, with the address of every page."""
    boards = shelf.ranking.boards
    return {
        "boards": [board_document(shelf, number) for number in range(len(boards))],
        "headlines": [{"model": model, **one.document()} for model, one in without_board(boards, None, None)],
        "unranked": [
            {"recipe": one.recipe, "reason": one.reason, "page": shelf.recipe_page(one.recipe)}
            for one in shelf.ranking.unranked
        ],
    }


def board_document(shelf: Shelf, number: int) -> dict[str, Any]:
    """One board of the ranking, with the address of its page and of each recipe's."""
    boards = shelf.ranking.boards
    board = boards[number]
    document = board.document()
    for row in document["rows"]:
        row["page"] = shelf.recipe_page(row["recipe"])
        row["file"] = f"recipes/{row['recipe']}.yaml"
    return {
        **document,
        "page": shelf.board_addresses[board.key.model, board.key.gpu],
        "on_gpus": [one.document() for one in on_gpus(board, boards)],
    }


def _card(shelf: Shelf, model: str) -> ModelCard:
    known = find_model(model)
    facts = f"{_short(known.params)} parameters, {_short(known.active_params)} active per token" if known else None
    lines = sorted(_lines(shelf, model), key=lambda line: (gpu_place(line.gpu), line.gpu))
    return ModelCard(name=model, facts=facts, lines=tuple(lines))


def _lines(shelf: Shelf, model: str) -> Iterator[GpuLine]:
    headlines = {headline.gpu: headline for headline in headlines_of(model)}
    with_recipes = [gpu for of, gpu in shelf.boards if of == model]
    for gpu in dict.fromkeys((*with_recipes, *headlines)):
        boards = shelf.boards.get((model, gpu), ())
        address = shelf.board_addresses.get((model, gpu))
        drafts = _count(len(shelf.unranked.get((model, gpu), ())), "not ranked")
        headline = headlines.get(gpu)
        if boards:
            best = boards[0].rows[0]
            recipes = ", ".join(filter(None, (_count(sum(len(board.rows) for board in boards), "ranked"), drafts)))
            yield GpuLine(
                gpu=gpu,
                address=address,
                rate=best.tokens_per_s_per_gpu,
                usd=best.usd_per_million_tokens,
                gpus=best.gpus,
                layout=best.layout,
                recipe=shelf.recipe_page(best.recipe),
                recipes=recipes,
            )
        else:
            yield GpuLine(
                gpu=gpu,
                address=address,
                rate=headline.tokens_per_s_per_gpu if headline else None,
                usd=headline.usd_per_million_tokens if headline else None,
                gpus=headline.gpus if headline else None,
                layout=None,
                recipe=None,
                recipes=", ".join(filter(None, ("best not published" if headline else "", drafts))),
            )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number else ""


def _short(count: int) -> str:
    """A count of parameters as models are called by: 397B, 16.3B, 749M."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:,}"
