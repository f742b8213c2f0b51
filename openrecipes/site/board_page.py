"""The page of a model on a GPU: its boards, the model on other GPUs, what is not ranked, how to cite."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openrecipes.catalog.headlines import headlines_of
from openrecipes.catalog.models import find_model
from openrecipes.site.citation import citations
from openrecipes.site.glossary import entry
from openrecipes.site.home_page import board_document
from openrecipes.site.other_gpus import OnGpu, of_headline, on_gpus
from openrecipes.site.pictures import Picture, board_pictures
from openrecipes.site.ranking import Board
from openrecipes.site.recipe_figures import ANCHORS
from openrecipes.site.shelf import Shelf, authors
from openrecipes.site.templates import page

Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardView:
    """A board as its page shows it."""

    board: Board
    workload: str
    pictures: tuple[Picture, ...]


def board_page(shelf: Shelf, key: Key) -> str:
    """The page of one model on one GPU."""
    model, gpu = key
    boards = shelf.boards[key]
    return page(
        "board.html.j2",
        shelf.board_addresses[key],
        model=model,
        gpu=gpu,
        maker=_maker(model),
        boards=[BoardView(board=one, workload=workload(one), pictures=board_pictures(one)) for one in boards],
        rule_entry=entry("window"),
        others=list(_others(shelf, key)),
        unranked=shelf.unranked.get(key, ()),
        citations=citations(author for board in boards for author in authors(board.rows)),
        addresses=shelf,
        anchors=ANCHORS,
        json=json_address(shelf, key),
    )


def boards_document(shelf: Shelf, key: Key) -> dict[str, Any]:
    """The boards of one model on one GPU, and what is on none."""
    return {
        "boards": [
            board_document(shelf, number)
            for number, board in enumerate(shelf.ranking.boards)
            if (board.key.model, board.key.gpu) == key
        ],
        "unranked": [{"recipe": one.recipe, "reason": one.reason} for one in shelf.unranked.get(key, ())],
    }


def json_address(shelf: Shelf, key: Key) -> str:
    """Where the JSON of a board's page lies: beside it."""
    return shelf.board_addresses[key].removesuffix(".html") + ".json"


def workload(board: Board) -> str:
    """The work of a board in one line, as the published page says it."""
    key = board.key
    kind = "SFT rows" if board.rows_kind.startswith("SFT") else "rows"
    return (
        f"Ranked by tokens/s per GPU · {key.row_tokens:,}-token {kind} · global batch {key.global_batch:,} · "
        f"{key.precision.upper()}"
    )


def _others(shelf: Shelf, key: Key) -> Iterator[tuple[OnGpu, str | None]]:
    """The model on every GPU of its headlines or boards, with the page of those whose recipe is here."""
    boards = shelf.boards[key] or tuple(board for board in shelf.ranking.boards if board.key.model == key[0])
    found = on_gpus(boards[0], shelf.ranking.boards) if boards else map(of_headline, headlines_of(key[0]))
    listed = list(found)
    if all(one.gpu == key[1] and one.recipe for one in listed):
        return
    for one in listed:
        yield one, shelf.board_addresses.get((key[0], one.gpu)) if one.recipe in shelf.recipe_addresses else None


def _maker(model: str) -> str | None:
    """Who made the model: the owner in the address its configuration was read at."""
    known = find_model(model)
    found = re.match(r"https://huggingface\.co/([\w.-]+)/", known.entry.source) if known else None
    return found[1] if found else None
