"""What is wrong with one field, in a user's words rather than the validator's."""

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from openrecipes.located_yaml import LocatedDocument, Path_, dotted
from openrecipes.problems import Problem, nearest
from openrecipes.recipe.block import Block

_MEANT = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "date_type": "a day, written 2026-10-11",
    "date_from_datetime_inexact": "a day, written 2026-10-11",
    "tuple_type": "a list",
    "dict_type": "a block of `key: value` lines",
    "model_type": "a block of `key: value` lines",
    "model_attributes_type": "a block of `key: value` lines",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def field_problem(document: LocatedDocument, path: Path_, item: Any, root: type[Block]) -> Problem:
    """The problem for one validation error at `path`."""
    what, mend, rule = _words(document, path, item, root)
    return Problem(place=document.place(path), rule=rule, what=what, mend=mend)


def _words(document: LocatedDocument, path: Path_, item: Any, root: type[Block]) -> tuple[str, str, str]:
    kind, context = item["type"], item.get("ctx", {})
    key = dotted(path[-1:]) or "the file"
    written = _written(document, path)
    if kind == "missing":
        return f"{key} is missing", f"add {dotted(path)}; {_describe(root, path)}", "schema-missing-key"
    if kind == "extra_forbidden":
        return _unknown_key(path, root)
    if kind == "literal_error":
        allowed = _allowed(context.get("expected", ""))
        guess = nearest(written, allowed)
        hint = f"write {guess}" if guess else f"write one of {', '.join(allowed)}"
        return f"{written}, but {key} is one of {', '.join(allowed)}", hint, "schema-choice"
    if kind in _MEANT:
        return _wrong_kind(path, kind, written, document)
    if kind in _BOUNDS:
        name, word = _BOUNDS[kind]
        bound = f"{word} {context[name]:,}"
        return f"{written}, but {key} is {bound}", f"write a number {bound}", "schema-range"
    if kind in ("string_too_short", "string_too_long"):
        length = "is empty" if kind == "string_too_short" else f"is longer than {context['max_length']:,} characters"
        return f"{key} {length}", _describe(root, path), "schema-length"
    if kind in ("too_long", "too_short"):
        want = context.get("max_length", context.get("min_length"))
        return (
            f"{context['actual_length']} items, but {key} has {want}",
            f"write {want} items",
            "schema-length",
        )
    if kind == "string_pattern_mismatch":
        return f"{written} is not of the form {context['pattern']}", _describe(root, path), "schema-pattern"
    return f"{written}: {item['msg']}", _describe(root, path), "schema-value"


def _wrong_kind(path: Path_, kind: str, written: str, document: LocatedDocument) -> tuple[str, str, str]:
    meant, key = _MEANT[kind], dotted(path[-1:])
    if written in ("null", "nothing"):
        return f"{key} is empty, but must be {meant}", f"write {meant}", "schema-kind"
    if kind == "string_type" and document.written(path) is not None:
        return (
            f"{written} is read as a number, a date or a truth value, but {key} is text",
            f"quote it: '{written}'",
            "schema-kind",
        )
    return f"{written} is not {meant}", f"write {meant}", "schema-kind"


def _unknown_key(path: Path_, root: type[Block]) -> tuple[str, str, str]:
    known = _fields(root, path[:-1])
    guess = nearest(str(path[-1]), known)
    hint = f"write {guess}, or remove the line" if guess else f"remove it; known here: {', '.join(known)}"
    where = dotted(path[:-1]) or "a recipe"
    return f"{path[-1]} is no key of {where}", hint, "schema-unknown-key"


def _written(document: LocatedDocument, path: Path_) -> str:
    text = document.written(path)
    if text is None:
        value: Any = document.value
        for part in path:
            value = _item(value, part)
        text = {dict: "a block", list: "a list", NoneType: "null"}.get(type(value), str(value))
    return text[:80] if text else "nothing"


def _item(value: Any, part: str | int) -> Any:
    if isinstance(value, list) and isinstance(part, int):
        return value[part] if part < len(value) else None
    return value.get(part) if isinstance(value, dict) else None


def _allowed(expected: str) -> list[str]:
    return [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]


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


def _describe(root: type[Block], path: Path_) -> str:
    model = _model_at(root, path[:-1])
    info = model.model_fields.get(str(path[-1])) if model and path else None
    return (info.description or "").rstrip(".") if info else "see schema/recipe.schema.yaml"
