"""A wrong call in words: what typer raises, as a problem of our form.

Typer's classes lie in different places from version to version, and their words are Python's; both are taken by what
they hold. Loaded only where a call is wrong.
"""

import errno
from errno import ENAMETOOLONG
from typing import Any, Final

from openrecipes.problems import Place, Problem, nearest, unreadable

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_NEEDS: Final = {
    "int_parsing": "{value} is no whole number",
    "int_from_float": "{value} is no whole number",
    "float_parsing": "{value} is no number",
    "bool_parsing": "{value} is neither true nor false",
    "greater_than_equal": "{value} is below {ge}",
    "greater_than": "{value} is not above {gt}",
    "less_than_equal": "{value} is above {le}",
    "less_than": "{value} is not below {lt}",
    "finite_number": "{value} is no finite number",
}


def is_usage_error(error: BaseException) -> bool:
    """Whether typer raised it for a wrong call, or the system for a name that no file can have."""
    return _is_too_long(error) or (hasattr(error, "format_message") and getattr(error, "exit_code", None) == 2)


def is_bare_call(error: BaseException) -> bool:
    """Whether nothing was called, and typer has shown the help for it."""
    return type(error).__name__ == "NoArgsIsHelpError"


def is_full(error: BaseException) -> bool:
    """Whether the system could not take what was written, to a stream or a file: a full disk, a quota, a broken one."""
    return isinstance(error, OSError) and error.errno in _FULL


def usage_problem(error: Any) -> Problem:
    """What is wrong with the call, at the option or argument, and where to find what is right."""
    if _is_too_long(error):
        (problem,) = unreadable(str(error.filename), "is longer than the name of a file can be").problems
        return problem
    what, mend = _said(error)
    return Problem(place=Place(key=_name(error)), rule="usage", what=what, mend=mend or _help(error))


def _is_too_long(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno == ENAMETOOLONG and error.filename is not None


def _name(error: Any) -> str:
    """The option as it is written, or the argument's name; nothing where the call as a whole is wrong."""
    option = getattr(error, "option_name", None)
    if option:
        return str(option)
    parameter = getattr(error, "param", None)
    if parameter is None:
        return ""
    options = [one for one in parameter.opts if one.startswith("--")]
    return str(options[0] if options else parameter.metavar or parameter.name)


def _said(error: Any) -> tuple[str, str | None]:
    kind, message = type(error).__name__, " ".join(str(error.format_message()).split())
    command = getattr(getattr(error, "ctx", None), "command", None)
    if kind == "NoSuchOption":
        known = [one for parameter in getattr(command, "params", ()) for one in parameter.opts if one[:2] == "--"]
        near = nearest(str(error.option_name), known)
        return "there is no such option", f"did you mean {near}?" if near else None
    if kind == "MissingParameter":
        return "is missing", None
    if "requires an argument" in message:
        return "a value must follow it", None
    if "does not take a value" in message:
        return "takes no value", f"write {error.option_name} alone"
    if message.startswith("No such command"):
        name = message.split("'")[1]
        near = nearest(name, getattr(command, "commands", None) or ())
        return f"there is no verb {name}", f"did you mean {near}?" if near else None
    if kind == "BadParameter":
        return _bad_value(error), None
    if message.startswith("Got unexpected extra argument"):
        return f"{message.partition('(')[2].partition('(')[2].rstrip(')') or message}: one too many", None
    return message, None


def _bad_value(error: Any) -> str:
    """By what pydantic found, where typer asks it; else typer's words, whose value stands in them."""
    errors = getattr(error.__cause__, "errors", None)
    found = errors()[0] if errors else None
    if found is not None and found["type"] in _NEEDS:
        return _NEEDS[found["type"]].format(value=found["input"], **found.get("ctx", {}))
    return str(error.message).removeprefix("Value error, ").rstrip(".")


def _help(error: Any) -> str:
    path = getattr(getattr(error, "ctx", None), "command_path", None)
    return f"`{path} --help` lists what it takes" if path else "`--help` after the verb lists what it takes"
