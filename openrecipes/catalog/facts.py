"""A fact with its source and the day it was read."""

from datetime import date
from typing import Any

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData


class Fact(CatalogData):
    """A value that somebody else states, with where and when it was read; each kind of value has its own class."""

    value: Any = Field(description="The value; its unit is in the name of the key that holds it.")
    source: str = Field(min_length=1, description="Where the value was read: a document, repository or command.")
    retrieved: date = Field(description="The day on which it was read.")
    note: str | None = Field(default=None, description="What else a reader needs to know.")


class WholeFact(Fact):
    """A whole number."""

    value: int = Field(description="The number; its unit is in the name of the key that holds it.")


class NumberFact(Fact):
    """A number."""

    value: float = Field(description="The number; its unit is in the name of the key that holds it.")


class PairFact(Fact):
    """Two whole numbers."""

    value: tuple[int, int] = Field(description="The numbers.")


class TextFact(Fact):
    """A name or a description."""

    value: str = Field(description="The text.")
