"""How to cite the authors of recipes, read from citations.yaml."""

from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData, parse_yaml, validate
from openrecipes.recipe.model import Author
from openrecipes.site.templates import FOLDER


class Citation(CatalogData):
    """A paper to cite for an author's recipes."""

    url: str = Field(description="The author's page, as recipes name it in author.url.")
    author: str = Field(description="The author's name on the board.")
    source: str = Field(min_length=1, description="Where the entry was read.")
    retrieved: date = Field(description="The day on which it was read.")
    bibtex: str = Field(description="The paper's BibTeX entry.")


class _CitationFile(CatalogData):
    citations: tuple[Citation, ...]


def citations(authors: Iterable[Author]) -> tuple[Citation, ...]:
    """The known papers of these authors, each once, in the authors' order."""
    known = _known()
    return tuple(known[url] for url in dict.fromkeys(author.url for author in authors) if url in known)


@lru_cache(maxsize=1)
def _known() -> dict[str | None, Citation]:
    text = (FOLDER / "citations.yaml").read_text(encoding="utf-8")
    return {entry.url: entry for entry in validate(parse_yaml(text), _CitationFile).citations}
