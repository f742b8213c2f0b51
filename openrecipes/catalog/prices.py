"""Dated prices of instances, read from prices.yaml."""

from datetime import date
from functools import lru_cache
from typing import Literal

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData, read_catalog_file
from openrecipes.problems import Place, Problem, UsageError, nearest


class Price(CatalogData):
    """What one instance costs for an hour, on one basis, in one region, at one time."""

    series: str = Field(description="The list that the price belongs to: `aws-on-demand-us-east-1-2026-09`.")
    instance: str = Field(description="The instance as recipes write it, provider first: `AWS p5en.48xlarge`.")
    gpu: str | None = Field(default=None, description="The GPU in it, where gpus.yaml does not hold the instance.")
    usd_per_instance_hour: float = Field(gt=0, description="US dollars for one instance for one hour.")
    gpus_per_instance: int = Field(gt=0, description="GPUs that this price buys.")
    region: str = Field(description="The provider's region.")
    basis: Literal["on-demand", "spot", "capacity-block", "reserved", "owned"] = Field(
        description="How the machine is paid for."
    )
    as_of: str = Field(pattern=r"^\d{4}-\d{2}$", description="The month in which the price held.")
    source: str = Field(min_length=1, description="Where the price was read.")
    retrieved: date = Field(description="The day on which it was read.")

    @property
    def id(self) -> str:
        """The price's name in results: series, slash, the instance without its provider."""
        return f"{self.series}/{self.instance.split(' ')[-1]}"

    @property
    def usd_per_gpu_hour(self) -> float:
        """US dollars for one GPU for one hour."""
        return self.usd_per_instance_hour / self.gpus_per_instance


class _PriceFile(CatalogData):
    default_series: str
    prices: tuple[Price, ...]


@lru_cache(maxsize=1)
def _price_file() -> _PriceFile:
    return read_catalog_file("prices.yaml", _PriceFile)


def all_prices() -> tuple[Price, ...]:
    """Every price of the catalogue, in file order."""
    return _price_file().prices


def default_price(instance: str) -> Price | None:
    """The price that published $ figures use for an instance, `AWS p5en.48xlarge`; None where there is none."""
    file = _price_file()
    return next((p for p in file.prices if p.instance == instance and p.series == file.default_series), None)


def price(price_id: str) -> Price:
    """The price of this id, `aws-on-demand-us-east-1-2026-09/p5en.48xlarge`.

    Raises: UsageError naming the nearest known one.
    """
    known = {entry.id: entry for entry in all_prices()}
    if price_id in known:
        return known[price_id]
    close = nearest(price_id, known)
    raise UsageError(
        Problem(
            place=Place(),
            rule="price-known",
            what=f"{price_id} is not in the catalogue of prices",
            mend=f"use {close}" if close else f"use one of {', '.join(known)}",
        )
    )
