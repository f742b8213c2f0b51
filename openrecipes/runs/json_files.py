"""JSON documents of a run directory: written whole or not at all, read as the model they must fit."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from openrecipes.problems import Place, Problem, UsageError, unreadable

MAX_BYTES = 64 * 2**20
_Model = TypeVar("_Model", bound=BaseModel)


def json_text(document: Any) -> str:
    """A document as this project writes it: indented, keys in their own order, one newline at the end.

    Raises: ValueError at a number that is not finite; JSON has no word for it.
    """
    plain = document.model_dump(mode="json") if isinstance(document, BaseModel) else document
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_atomically(path: Path, content: bytes) -> None:
    """Puts the whole content at `path`: a reader sees the old file or the new one, never a part."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, document: Any) -> None:
    """Writes a document, whole or not at all."""
    write_atomically(path, json_text(document).encode())


def read_json(path: Path, model: type[_Model], what: str) -> _Model:
    """The document in a file, as a model; `what` names it in messages: "run record".

    Raises: UsageError if it is missing, unreadable or does not fit.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise unreadable(str(path), f"is larger than any {what} ({MAX_BYTES} bytes)")
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise unreadable(str(path), f"cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        mend = f"this is no {what} of this version, or it was changed by hand; name another run"
        wrong = f"is not what a {what} holds there" if key else f"is no {what}"
        place = Place(file=str(path), key=key)
        raise UsageError(Problem(place=place, rule="run-record", what=wrong, mend=mend)) from error


def sha256_of(path: Path) -> str:
    """sha256 of a file's bytes, read a piece at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
