"""A model's config.json to an entry of the catalogue on this machine."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml

from openrecipes.catalog.config_reading import read_config
from openrecipes.catalog.models import MODEL_FOLDER, Model, find_model, is_model_name, model_from, own_model_folder
from openrecipes.located_yaml import read_text
from openrecipes.problems import Place, Problem, ProblemsError, UsageError

_CACHE_FOLDER: Final = re.compile(r"models--[^/]+?--(.+)")
_FILE_WORDS: Final = re.compile(r"[-_.]?config$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Added:
    """A model with the file that now holds it; None where the catalogue already had it."""

    model: Model
    path: Path | None


def add_model(
    config: Path,
    *,
    today: date,
    name: str | None = None,
    source: str | None = None,
    revision: str | None = None,
    folder: Path | None = None,
    replace: bool = False,
) -> Added:
    """The model of a config.json, written as NAME.yaml into `folder` (own_model_folder() where None).

    Raises: UsageError if the file cannot be read or gives no name; ProblemsError if its fields cannot be mapped, or
    another model of this name is in the catalogue.
    """
    text = read_text(config)
    read = read_config(text, str(config))
    chosen = name or name_of(config, text)
    if not is_model_name(chosen):
        raise UsageError(_problem(config, f"{chosen!r} cannot be a model's name", "give one with --name"))
    entry: dict[str, Any] = {
        "name": chosen,
        "source": source or f"config.json given as {config.name}",
        "revision": revision,
        "retrieved": today.isoformat(),
        "not_counted": list(read.not_counted),
        "model_type": read.family.model_type,
        "config": dict(read.fields),
    }
    model = model_from(entry)
    known = find_model(chosen)
    if known is not None and _same(known, model):
        return Added(model=known, path=None)
    if known is not None and not (replace and not _is_shipped(known)):
        raise ProblemsError(_taken(config, known, model))
    target = (folder or own_model_folder()) / f"{chosen.lower()}.yaml"
    _write(target, entry)
    return Added(model=model, path=target)


def name_of(config: Path, text: str) -> str:
    """The name that a config goes by: its own, the hub's folder, its folder, or its file's name."""
    own = re.search(r'"_name_or_path"\s*:\s*"([^"]+)"', text)
    if own:
        return own[1].rstrip("/").rsplit("/", 1)[-1]
    for part in config.resolve().parts[::-1]:
        cached = _CACHE_FOLDER.fullmatch(part)
        if cached:
            return cached[1]
    stem = _FILE_WORDS.sub("", config.stem)
    return stem or config.resolve().parent.name


def _same(known: Model, model: Model) -> bool:
    return known.tensors == model.tensors and known.architecture_arguments() == model.architecture_arguments()


def _is_shipped(known: Model) -> bool:
    return (MODEL_FOLDER / f"{known.name.lower()}.yaml").exists()


def _taken(config: Path, known: Model, model: Model) -> Problem:
    old, new = known.config.model_dump(), model.config.model_dump()
    differs = [f"{name} {new.get(name)} against {old.get(name)}" for name in new if new.get(name) != old.get(name)]
    what = f"another {known.name} is in the catalogue: {', '.join(differs)[:300] or known.family.model_type}"
    mend = "give this one another name with --name"
    return _problem(config, what, mend if _is_shipped(known) else f"{mend}, or replace the added one with --replace")


def _problem(config: Path, what: str, mend: str) -> Problem:
    return Problem(place=Place(file=str(config)), rule="model-name", what=what, mend=mend)


def _write(target: Path, entry: dict[str, Any]) -> None:
    """The entry as YAML, in place of the old file all at once."""
    text = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=116)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(target)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        what = f"cannot be written: {error.strerror}"
        mend = "name a folder that you may write with -o"
        raise UsageError(Problem(place=Place(file=str(target)), rule="file-writable", what=what, mend=mend)) from error
