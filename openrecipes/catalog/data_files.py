"""The room's own YAML files, parsed into pydantic models."""

import json
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ConfigDict

CATALOG_FOLDER = Path(__file__).resolve().parent

# The C loader is ten times faster, but not every build of PyYAML has it.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Data = TypeVar("Data", bound=BaseModel)


class CatalogData(BaseModel):
    """Settings that all data of the catalogue share: unknown keys and loose types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


def parse_yaml(text: str) -> object:
    """The plain data in a YAML text; no tags, no Python objects."""
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 (a safe loader)


def validate(data: object, form: type[Data]) -> Data:
    """`data` as a `form`, with JSON's strictness: lists become tuples and dates are text, nothing else bends.

    Raises: pydantic.ValidationError.
    """
    return form.model_validate_json(json.dumps(data, default=str))


def read_catalog_file(name: str, form: type[Data]) -> Data:
    """One of the catalogue's own files as a `form`; a mistake in it is a bug, so errors pass through."""
    return validate(parse_yaml((CATALOG_FOLDER / name).read_text(encoding="utf-8")), form)
