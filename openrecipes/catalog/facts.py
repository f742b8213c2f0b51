"""A fact with its source and the day it was read."""

from datetime import date
from typing import Generic, TypeVar

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData

Value = TypeVar("Value")


class Fact(CatalogData, Generic[Value]):
    """A value that somebody else states, with where and when it was read."""

    value: Value = Field(description="The value; its unit is in the name of the key that holds it.")
    source: str = Field(min_length=1, description="Where the value was read: a document, repository or command.")
    retrieved: date = Field(description="The day on which it was read.")
    note: str | None = Field(default=None, description="What else a reader needs to know.")
