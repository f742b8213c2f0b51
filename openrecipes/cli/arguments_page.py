"""One flag of the trainer, explained."""

import json
from typing import Any, Final, TypedDict

from openrecipes.catalog.arguments import Argument, ArgumentCatalogue
from openrecipes.cli.columns import beside
from openrecipes.correctness.argument_classes import argument_classes
from openrecipes.problems import Place, Problem, UsageError
from openrecipes.render.ownership import FIELD_OF, PATHS, TASK

_TAKES: Final = {
    "int": "a whole number",
    "float": "a number",
    "text": "text",
    "bool": "text; every text but the empty one is true",
    "json": "JSON text",
    "enum": "one of the choices",
    "layer_pattern": "a number, or a list expression without spaces",
    "int_tuple": "whole numbers with commas between",
}
_NAMES: Final = 10
_MANY: Final = {None: "", "*": ", none or more times", "+": ", one or more times"}


class Explained(TypedDict):
    """What `arguments explain --json` prints; `numerics` is how a difference in the flag is judged, null if unknown."""

    flags: list[str]
    dest: str
    help: str | None
    defined_by: str
    stack_id: str
    action: str
    value: str | None
    nargs: int | str | None
    default: Any
    choices: list[Any] | None
    required: bool
    decided_by: str
    numerics: str | None
    numerics_why: str | None


def explained(flag: str, catalogue: ArgumentCatalogue) -> Explained:
    """What the flag is, `lr`, `--lr` and `moe_layer_freq` being the same as the parser's spelling.

    Raises: UsageError if there is none, naming the nearest.
    """
    parser = catalogue.parser
    name = "--" + flag.lstrip("-").replace("_", "-")
    found = parser.find(flag) or parser.find(name) or parser.find("--" + flag.lstrip("-"))
    if found is None:
        near = parser.nearest(name)
        what = f"{catalogue.stack_id} has no flag {flag}; the trainer would drop it in silence"
        mend = f"write {near}" if near else "look it up in the trainer's own help"
        raise UsageError(Problem(place=Place(key=flag), rule="argument-known", what=what, mend=mend))
    listing = argument_classes().of_flag(found.flags[0])
    return {
        "flags": list(found.flags),
        "dest": found.dest,
        "help": found.help,
        "defined_by": found.defined_by,
        "stack_id": catalogue.stack_id,
        "action": found.action,
        "value": found.value,
        "nargs": found.nargs,
        "default": found.default,
        "choices": None if found.choices is None else list(found.choices),
        "required": found.required,
        "decided_by": _decided_by(found),
        "numerics": listing.listed if listing else None,
        "numerics_why": listing.why if listing else None,
    }


def page(document: Explained) -> str:
    """The explanation for people."""
    default = document["default"]
    rows = [
        ("sets", document["dest"]),
        ("defined by", f"{document['defined_by']} ({document['stack_id']})"),
        ("takes", _takes(document)),
        ("default", "none" if default is None else json.dumps(default)),
        ("required", "yes" if document["required"] else "no"),
        ("decided by", document["decided_by"]),
        ("numerics", _numerics(document)),
    ]
    if document["choices"] is not None:
        rows.insert(3, ("choices", ", ".join(map(str, document["choices"]))))
    title = ", ".join(document["flags"])
    text = [" ".join(document["help"].split())] if document["help"] else []
    return "\n".join([title, *text, "", *beside(rows, left=_NAMES)])


def _numerics(document: Explained) -> str:
    if document["numerics"] is None:
        return "not classified: a difference in it fails the configuration check"
    return f"{document['numerics']}: {document['numerics_why']}"


def _takes(document: Explained) -> str:
    if document["action"] != "store":
        return "no value"
    count = document["nargs"]
    many = f", {count} times" if isinstance(count, int) else _MANY[count]
    return _TAKES[document["value"] or "text"] + many


def _decided_by(argument: Argument) -> str:
    for flag in argument.flags:
        if flag in FIELD_OF:
            return FIELD_OF[flag]
        if flag in PATHS:
            return "the launch, which puts the file in place"
        if flag in TASK:
            return "the task, for every recipe alike"
    return f"arguments.{argument.flags[0].removeprefix('--').replace('-', '_')}"
