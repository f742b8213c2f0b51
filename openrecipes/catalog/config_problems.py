"""Problems of a config.json: where a field stands, and what is wrong with its value, in the field's own words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import JsonValue
from pydantic_core import ErrorDetails

from openrecipes.located_yaml import Path_, dotted, located_yaml
from openrecipes.problems import Place, Problem, ProblemsError

_RULE = "model-config"


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigFile:
    """A config.json with the line of each field."""

    file: str
    value: Mapping[str, Any]
    lines: Mapping[str, int]

    @classmethod
    def of(cls, text: str, file: str) -> Self:
        """A config.json from its text.

        Raises: ProblemsError if it is not one JSON object, or names a field twice.
        """
        try:
            value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            place = Place(file=file, line=error.lineno)
            raise ProblemsError(_problem(place, f"is not JSON: {error.msg}", "mend the file's syntax")) from None
        except (RecursionError, ValueError) as error:
            what = "nests too deeply" if isinstance(error, RecursionError) else str(error)
            raise ProblemsError(_problem(Place(file=file), what, "give a model's config.json")) from None
        if not isinstance(value, dict):
            raise ProblemsError(_problem(Place(file=file), "is not a JSON object", "give a model's config.json"))
        return cls(file=file, value=value, lines=_lines(text, file))

    def problem(self, key: str, what: str, mend: str) -> Problem:
        """A problem of one field; where the field is missing, of the nearest field around it."""
        around = key
        while around and around not in self.lines:
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        return _problem(Place(file=self.file, line=self.lines.get(around), key=key), what, mend)


def field_problem(source: ConfigFile, prefix: str, error: ErrorDetails, fields: Mapping[str, JsonValue]) -> Problem:
    """What the form refused, as a problem of the field."""
    kind, context, path = error["type"], error.get("ctx", {}), error["loc"]
    as_published = "set it as in the model's own config"
    if kind == "fields_disagree":
        return source.problem(
            prefix + context["field"], context["what"], "make the two agree, as in the model's own config"
        )
    # A discriminated union puts its tag into the path: rope_parameters.yarn.factor.
    if len(path) > 2 and path[0] == "rope_parameters":
        path = (path[0], *path[2:])
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        path = (*path, "rope_type")
    key, value = prefix + dotted(path), json.dumps(_at(fields, path))[:80]
    if kind == "missing":
        return source.problem(key, "is missing", "add it, as in the model's own config")
    if kind == "extra_forbidden":
        return source.problem(key, f"is {value}, which cannot be mapped", "take it out if it changes nothing")
    if kind.startswith("union_tag"):
        mend = f"only {context.get('expected_tags', 'a known type')} can"
        return source.problem(key, f"is {value}, which cannot be mapped", mend)
    return source.problem(key, f"is {value}, but must be {_wanted(kind, context)}", as_published)


def _wanted(kind: str, context: Mapping[str, Any]) -> str:
    bounds = {
        "greater_than": ("gt", "above"),
        "greater_than_equal": ("ge", "at least"),
        "less_than": ("lt", "below"),
        "less_than_equal": ("le", "at most"),
        "multiple_of": ("multiple_of", "a multiple of"),
    }
    if kind in bounds:
        name, words = bounds[kind]
        return f"{words} {context[name]:,}"
    if kind == "literal_error":
        return str(context["expected"])
    names = {
        "int": "a whole number",
        "float": "a number",
        "finite": "a number",
        "bool": "true or false",
        "string": "text",
        "tuple": "a list",
        "too": "shorter",
        "model": "a mapping",
    }
    return next((words for start, words in names.items() if kind.startswith(start)), "of another form")


def _at(fields: Mapping[str, JsonValue], path: Path_) -> Any:
    value: Any = fields
    for part in path:
        if isinstance(value, dict):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            break
    return value


def _problem(place: Place, what: str, mend: str) -> Problem:
    return Problem(place=place, rule=_RULE, what=what, mend=mend)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"names {name} twice")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"holds {name}, which is not JSON")


def _lines(text: str, file: str) -> dict[str, int]:
    """The line of each field, keys dotted; nothing where JSON's layout is not also YAML's (tabs)."""
    try:
        document = located_yaml(text, file)
    except ProblemsError:
        return {}
    return {dotted(path): span.key_line for path, span in document.spans.items() if path}
