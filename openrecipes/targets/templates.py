"""The files of `launch/`: templates filled in with every value quoted, and programs as they are."""

import shlex
from functools import lru_cache
from typing import Any

import jinja2

from openrecipes.shipped import shipped


class ShellText(str):
    """Text that is shell already: made from constants, never from a recipe's value as it is."""

    __slots__ = ()


def shell_script(template: str, **values: Any) -> str:
    """A template with its values in it, each as one quoted shell word unless it is ShellText.

    Raises: ValueError at a value that no shell word can hold: anything but text and whole numbers, or a NUL.
    """
    return _environment().get_template(template).render(values)


def program(name: str) -> str:
    """The text of a program that is launched as it is: `smoke_sft.py`."""
    return shipped("launch", name).read_text(encoding="utf-8")


def quoted(value: Any) -> str:
    """One shell word that stands for exactly this value."""
    if isinstance(value, ShellText | jinja2.Undefined):
        return str(value)  # of what is undefined this raises, and says what it was
    if isinstance(value, bool) or not isinstance(value, str | int) or "\0" in str(value):
        raise ValueError(f"{value!r} cannot stand in a shell script")
    return shlex.quote(str(value))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(  # noqa: S701  (shell, not HTML: `finalize` quotes every value)
        loader=jinja2.FileSystemLoader(shipped("launch")),
        undefined=jinja2.StrictUndefined,
        finalize=quoted,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Jinja's own marks `{#` and `#}` are shell: "${#array[@]}".
        comment_start_string="<#",
        comment_end_string="#>",
    )
