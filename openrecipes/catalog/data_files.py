"""The room's own YAML files, parsed into pydantic models."""

import hashlib
import json
from pathlib import Path
from typing import Any, TypeVar

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
    file = CATALOG_FOLDER / name
    data = file.read_bytes()
    known = digested(file, data)
    return validate(parse_yaml(data.decode()) if known is None else known, form)


def digest_path(file: Path) -> Path:
    """Where the digest of a data file lies: what reading it comes to, as JSON, which is read in no time.

    `make docs` writes the digests. One counts only for the very bytes of the file that it was made from.
    """
    return file.parent / "digests" / f"{file.stem}.json"


def digest_text(file: Path, value: object) -> str:
    """The digest that says what the file comes to."""
    of = hashlib.sha256(file.read_bytes()).hexdigest()
    return f'{{"of_sha256": "{of}",\n"value": {json.dumps(value, default=str)}}}\n'


def digested(file: Path, data: bytes) -> Any | None:
    """What a file with these bytes comes to; None where no digest knows."""
    try:
        document = json.loads(digest_path(file).read_bytes())
    except OSError:
        return None
    return document["value"] if document["of_sha256"] == hashlib.sha256(data).hexdigest() else None


def file_digests() -> dict[Path, str]:
    """The digest of every file that `read_catalog_file` reads, by the path where it lies."""
    files = [CATALOG_FOLDER / name for name in ("gpus.yaml", "headlines.yaml", "prices.yaml")]
    return {digest_path(file): digest_text(file, parse_yaml(file.read_text(encoding="utf-8"))) for file in files}
