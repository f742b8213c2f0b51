"""Headline figures that the leaderboard states for a model on each GPU, read from headlines.yaml."""

from datetime import date
from functools import lru_cache

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData, read_catalog_file


class Headline(CatalogData):
    """The best figure published for a model on a GPU; where `recipe` is null no recipe came with it."""

    model: str = Field(description="The model's name in the catalogue.")
    gpu: str = Field(description="The GPU's name in the catalogue.")
    gpus: int = Field(gt=0, description="GPUs of the run.")
    tokens_per_s_per_gpu: float = Field(gt=0, description="Tokens a second a GPU, as printed.")
    usd_per_million_tokens: float = Field(gt=0, description="US dollars for a million tokens, as printed.")
    recipe: str | None = Field(description="Short name of the published recipe, or null.")
    source: str = Field(min_length=1, description="Where the figures were read.")
    retrieved: date = Field(description="The day on which they were read.")


class _HeadlineFile(CatalogData):
    headlines: tuple[Headline, ...]


@lru_cache(maxsize=1)
def all_headlines() -> tuple[Headline, ...]:
    """Every headline, in file order."""
    return read_catalog_file("headlines.yaml", _HeadlineFile).headlines


def headlines_of(model: str) -> tuple[Headline, ...]:
    """The headlines of one model, in file order."""
    return tuple(headline for headline in all_headlines() if headline.model == model)
