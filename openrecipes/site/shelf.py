"""Everything that the site's pages are made from: the sound recipes of a library, ranked, with an address each."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from openrecipes.catalog.gpus import all_gpus
from openrecipes.catalog.headlines import all_headlines
from openrecipes.recipe.model import Author
from openrecipes.site.addresses import slug, slugs
from openrecipes.site.ranking import Board, Entry, Ranking, Row, Unranked, ranking

_MOST_COMPARED: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two recipes of one board that have a page which tells them apart; `better` is ranked no lower."""

    better: Row
    other: Row
    address: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Shelf:
    """The recipes, their boards, and the address of every page. Addresses are below the site's root.

    `boards` has a place for every model and GPU of a recipe, empty where none of its recipes is ranked.
    """

    entries: tuple[Entry, ...]
    ranking: Ranking
    boards: Mapping[tuple[str, str], tuple[Board, ...]]
    unranked: Mapping[tuple[str, str], tuple[Unranked, ...]]
    board_addresses: Mapping[tuple[str, str], str]
    recipe_addresses: Mapping[str, str]  # without ending: .html, .json and .yaml lie beside each other

    def recipe_page(self, name: str) -> str:
        """The address of a recipe's page."""
        return f"{self.recipe_addresses[name]}.html"

    def models(self) -> tuple[str, ...]:
        """Every model of a recipe or a headline, by name."""
        return tuple(sorted({*(model for model, _ in self.boards), *(one.model for one in all_headlines())}))

    def places(self) -> Iterator[tuple[Row, Board]]:
        """Every ranked recipe with its board."""
        for board in self.ranking.boards:
            for row in board.rows:
                yield row, board

    def pairs(self, board: Board) -> Iterator[Pair]:
        """Each of a board's first hundred beside the best and beside the one before it; `compare` takes any two."""
        for place, row in enumerate(board.rows[1:_MOST_COMPARED], start=1):
            yield self._pair(board.rows[0], row)
            if place > 1:
                yield self._pair(board.rows[place - 1], row)

    def _pair(self, better: Row, other: Row) -> Pair:
        one, two = (PurePosixPath(self.recipe_addresses[row.recipe]) for row in (better, other))
        first = one.name if one.parent == two.parent else slug(str(one))
        folder = two.parent.relative_to("recipes")
        return Pair(better=better, other=other, address=f"diffs/{folder}/{first}--{two.name}.html")


def shelf(entries: Iterable[Entry]) -> Shelf:
    """The shelf of these recipes."""
    kept = tuple(sorted(entries, key=lambda entry: entry.name))
    found = ranking(kept)
    keys = sorted({(entry.recipe.model, entry.recipe.gpu.type) for entry in kept}, key=_place)
    boards: dict[tuple[str, str], list[Board]] = {key: [] for key in keys}
    unranked: dict[tuple[str, str], list[Unranked]] = defaultdict(list)
    for board in found.boards:
        boards[board.key.model, board.key.gpu].append(board)
    for one in found.unranked:
        unranked[one.model, one.gpu].append(one)
    models, gpus = slugs(model for model, _ in keys), slugs(gpu for _, gpu in keys)
    return Shelf(
        entries=kept,
        ranking=found,
        boards={key: tuple(value) for key, value in boards.items()},
        unranked={key: tuple(value) for key, value in unranked.items()},
        board_addresses={(model, gpu): f"boards/{models[model]}/{gpus[gpu]}.html" for model, gpu in keys},
        recipe_addresses=_recipe_addresses(kept),
    )


def authors(rows: Iterable[Row]) -> tuple[Author, ...]:
    """The authors of ranked recipes, each once, in their order."""
    return tuple(dict.fromkeys(row.author for row in rows))


def gpu_place(gpu: str) -> int:
    """The GPU's place in the catalogue; unknown ones come last."""
    names = [known.name for known in all_gpus()]
    return names.index(gpu) if gpu in names else len(names)


def _place(key: tuple[str, str]) -> tuple[str, int, str]:
    return key[0], gpu_place(key[1]), key[1]


def _recipe_addresses(entries: tuple[Entry, ...]) -> Mapping[str, str]:
    """Folders and file of each recipe's short name, made fit for an address part by part."""
    parts = {entry.name: PurePosixPath(entry.name).parts[-3:] for entry in entries}
    known = slugs(part for found in parts.values() for part in found)
    plain = {name: "/".join(("recipes", *(known[part] for part in found))) for name, found in parts.items()}
    unique = slugs(plain.values()) if len(set(plain.values())) < len(plain) else {}
    return {name: f"recipes/{unique[address]}" if unique else address for name, address in plain.items()}
