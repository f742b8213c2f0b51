"""What is wrong with the fields of a file, in a user's words rather than the validator's."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from pydantic_core import ErrorDetails

from openrecipes.located_yaml import LocatedDocument, Path_, dotted
from openrecipes.problems import Problem, nearest
from openrecipes.recipe.block import Block

Words = tuple[str, str, str]  # what, mend, rule

_BLOCK: Final = ("a block of `key: value` lines", "write `key: value` lines below it, indented")
# What a field holds, and how to write it, by the validator's error.
_MEANT: Final = {
    "int_type": ("a whole number", "write a whole number"),
    "int_from_float": ("a whole number", "write a whole number"),
    "float_type": ("a number", "write a number"),
    "string_type": ("text", "write text"),
    "bool_type": ("true or false", "write true or false"),
    "date_type": ("a day", "write a day such as 2026-10-11"),
    "date_from_datetime_inexact": ("a day", "write the day alone, such as 2026-10-11"),
    "tuple_type": ("a list", "write `- item` lines, or [] for none"),
    "dict_type": _BLOCK,
    "model_type": _BLOCK,
    "model_attributes_type": _BLOCK,
    "finite_number": ("a finite number", "write a finite number"),
}
_BOUNDS: Final = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}
# Form of a text by its pattern, and how to mend it.
_FORMS: Final = {
    "^[0-9a-f]{64}$": ("64 hexadecimal digits in lower case", "write what sha256sum prints"),
    "^[A-Za-z_][A-Za-z0-9_]*$": ("letters, digits and _, not a digit first", "rename the variable"),
    "^[A-Za-z][A-Za-z0-9_-]*$": ("letters, digits, - and _, a letter first", "write the flag without its dashes"),
    # Of cluster profiles.
    r"^[A-Za-z0-9_][A-Za-z0-9._:@%-]*$": ("a host as ssh takes it", "write a name, USER@NAME or an alias of ssh's"),
    r"^[A-Za-z0-9][A-Za-z0-9._:,@+=/&|()\[\]*-]*$": (
        "a word that sbatch takes without quotes",
        "write it without blanks and quotes",
    ),
    r"^--[a-z][a-z-]*(=[A-Za-z0-9._:,@+=/&|()\[\]*-]+)?$": (
        "a long option of sbatch",
        "write it as --wckey=NAME, in one word",
    ),
    r"^/[^\x00-\x1f]*$": ("a path from the root", "write the path from the root"),
    r"^/[A-Za-z0-9._/-]*$": ("a plain path from the root", "write one of letters, digits and . _ - /"),
}
# Naming the nearest key takes a while; a file of nothing but unknown keys gets this many.
_GUESSES: Final = 100
_KIND_READ: Final = {bool: "a truth value", int: "a number", float: "a number", datetime.date: "a day"}


def field_problems(
    document: LocatedDocument, found: Mapping[Path_, ErrorDetails], root: type[Block]
) -> Iterator[Problem]:
    """One problem for each place that the validator complained of."""
    missing = {path for path, item in found.items() if item["type"] == "missing"}
    misspelt: dict[Path_, str | None] = {}
    for path, item in found.items():
        if item["type"] == "extra_forbidden" and len(misspelt) >= _GUESSES:
            misspelt[path] = None
        elif item["type"] == "extra_forbidden":
            guess = nearest(str(path[-1]), [str(other[-1]) for other in missing if other[:-1] == path[:-1]])
            known = _fields(root, path[:-1])
            misspelt[path] = guess or nearest(str(path[-1]), known) or _without_its_end(str(path[-1]), known)
    # A misspelt key is one mistake, so the key that it stands for is not called missing as well.
    told = {(*path[:-1], guess) for path, guess in misspelt.items()}
    for path, item in found.items():
        if path in misspelt:
            what, mend, rule = _unknown_key(path, misspelt[path], root)
        elif path in missing & told:
            continue
        elif path in missing and isinstance(path[-1], int):
            path = path[:-1]  # noqa: PLW2901  (a list that is too short is a mistake of the list)
            want = len(get_args(_field(root, path).annotation))
            what, mend, rule = _length(len(_value(document, path)), str(path[-1]), want)
        else:
            what, mend, rule = _words(document, path, item, root)
        yield Problem(place=document.place(path), rule=rule, what=what, mend=mend)


def _without_its_end(key: str, known: Sequence[str]) -> str | None:
    """The one known key that the written one is the beginning of, as time_limit is of time_limit_seconds."""
    longer = [name for name in known if name.startswith(f"{key}_")]
    return longer[0] if len(longer) == 1 else None


def _words(document: LocatedDocument, path: Path_, item: ErrorDetails, root: type[Block]) -> Words:
    kind, context = item["type"], item.get("ctx", {})
    key = str(path[-1]) if path and isinstance(path[-1], str) else "the item"
    written = _written(document, path)
    if kind == "missing":
        return f"{key} is missing", f"add {key}: {_describe(root, path)}", "schema-missing-key"
    if kind == "literal_error":
        return _choice(document, path, context.get("expected", ""), root)
    if kind in _MEANT:
        return _wrong_kind(path, kind, written, document)
    if kind in _BOUNDS:
        name, word = _BOUNDS[kind]
        bound = f"{word} {_number(context[name])}"
        return f"{written}, but {key} is {bound}", f"write a number that is {bound}", "schema-range"
    if kind in ("string_too_short", "string_too_long"):
        length = "is empty" if kind == "string_too_short" else f"is longer than {context['max_length']:,} characters"
        return f"{key} {length}", _instead(root, path), "schema-length"
    if kind in ("too_long", "too_short"):
        return _length(context["actual_length"], key, context["max_length" if kind == "too_long" else "min_length"])
    if kind == "string_pattern_mismatch":
        named = path[-1] if item["loc"][-1] == "[key]" else written
        if context["pattern"] not in _FORMS:
            return f"{named} has not the form of {key}", _instead(root, path), "schema-pattern"
        form, mend = _FORMS[context["pattern"]]
        return f"{named} is not {form}", mend, "schema-pattern"
    return f"{written} cannot be taken for {key}", _instead(root, path), "schema-kind"


def _length(length: int, key: str, want: int) -> Words:
    return f"{length} item{'' if length == 1 else 's'}, but {key} has {want}", f"write {want} items", "schema-length"


def _number(bound: float) -> str:
    return f"{int(bound):,}" if bound == int(bound) else str(bound)


def _choice(document: LocatedDocument, path: Path_, expected: str, root: type[Block]) -> Words:
    allowed = [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]
    written = _written(document, path)
    if written in allowed:
        return f"{written} is quoted, so it is text", f"remove the quotes: {written}", "schema-choice"
    if _may_be_null(root, path):
        allowed.append("null")
    guess = nearest(written, allowed) or (allowed[0] if len(allowed) == 1 else "one of them")
    choices = f"one of {', '.join(allowed)}" if len(allowed) > 1 else allowed[0]
    return f"{written}, but {path[-1]} is {choices}", f"write {guess}", "schema-choice"


def _wrong_kind(path: Path_, kind: str, written: str, document: LocatedDocument) -> Words:
    meant, mend = _MEANT[kind]
    key = str(path[-1]) if path and isinstance(path[-1], str) else "the item"
    span = document.span(path)
    value = _value(document, path)
    if value is None:
        return f"{key} is empty, but must be {meant}", mend, "schema-kind"
    if kind == "string_type" and type(value) in _KIND_READ:
        read = _KIND_READ[type(value)]
        return f"{written} is read as {read}, but {key} is text", f"quote it: '{written}'", "schema-kind"
    if isinstance(value, str) and span and span.style in ("'", '"') and kind not in ("tuple_type", *_BLOCK_ERRORS):
        return f"{written} is quoted, so it is text, but {key} is {meant}", f"{mend}, without quotes", "schema-kind"
    return f"{written}, but {key} is {meant}", mend, "schema-kind"


_BLOCK_ERRORS: Final = ("dict_type", "model_type", "model_attributes_type")


def _unknown_key(path: Path_, guess: str | None, root: type[Block]) -> Words:
    known = _fields(root, path[:-1])
    hint = f"write {guess}, or remove the line" if guess else f"remove it; known here: {', '.join(known)}"
    where = dotted(path[:-1]) or f"a {'recipe' if root.__name__ == 'Recipe' else 'cluster profile'}"
    return f"{path[-1]} is no key of {where}", hint, "schema-unknown-key"


def _written(document: LocatedDocument, path: Path_) -> str:
    text = document.written(path)
    if text is None:
        value = _value(document, path)
        text = {dict: "a block", list: "a list", NoneType: "null"}.get(type(value), str(value))
    return _one_line(text) if text else "nothing"


def _one_line(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= 80 else f"{shown[:77]}…"


def _value(document: LocatedDocument, path: Path_) -> Any:
    value: Any = document.value
    for part in path:
        if isinstance(value, list) and isinstance(part, int):
            value = value[part] if part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _model_at(root: type[Block], path: Path_) -> type[Block] | None:
    model: Any = root
    for part in path:
        if isinstance(part, int):
            continue
        if not (isinstance(model, type) and issubclass(model, Block)) or part not in model.model_fields:
            return None
        model = _inner(model.model_fields[part].annotation)
    return model if isinstance(model, type) and issubclass(model, Block) else None


def _inner(annotation: Any) -> Any:
    """The one type inside an optional or a tuple."""
    while get_origin(annotation) in (Union, UnionType, tuple):
        inner = [item for item in get_args(annotation) if item not in (NoneType, Ellipsis)]
        if len(inner) != 1:
            return None
        annotation = inner[0]
    return annotation


def _fields(root: type[Block], path: Path_) -> list[str]:
    model = _model_at(root, path)
    return list(model.model_fields) if model else []


def _field(root: type[Block], path: Path_) -> Any:
    model = _model_at(root, path[:-1])
    return model.model_fields.get(str(path[-1])) if model and path else None


def _may_be_null(root: type[Block], path: Path_) -> bool:
    info = _field(root, path)
    return info is not None and NoneType in get_args(info.annotation)


def _describe(root: type[Block], path: Path_) -> str:
    info = _field(root, path)
    text = (info.description or "").rstrip(".") if info else f"see schema/{_schema(root)}.schema.yaml"
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _instead(root: type[Block], path: Path_) -> str:
    known = _field(root, path)
    return f"write {_describe(root, path)}" if known else f"see schema/{_schema(root)}.schema.yaml"


def _schema(root: type[Block]) -> str:
    return "recipe" if root.__name__ == "Recipe" else "cluster"
