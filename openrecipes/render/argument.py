"""What a command consists of: arguments with their origin, the lines they are written in, environment values."""

import shlex
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Argument:
    """One flag with its values, and what it follows from.

    `origin` is a recipe key (`layout.tp`, `arguments.lr`), `published default`, or words. Where `is_variable`,
    the one value is a shell variable that the launch defines, written with its dollar: `$HF_CKPT`.
    """

    flag: str
    values: tuple[str, ...] = ()
    origin: str
    is_variable: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """Flag and values as separate items."""
        return (self.flag, *self.values)

    @property
    def text(self) -> str:
        """The argument as a shell reads it: literals quoted where they must be, a variable in double quotes."""
        if self.is_variable:
            return " ".join((self.flag, *(f'"{value}"' for value in self.values)))
        return shlex.join(self.argv)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """Arguments that the published form writes in one line; `stands_for` is written in their place."""

    arguments: tuple[Argument, ...]
    stands_for: str | None = None

    @property
    def text(self) -> str:
        """The line without indent and continuation."""
        return self.stands_for or " ".join(argument.text for argument in self.arguments)


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentValue:
    """One environment variable: text to be taken as it stands, or text that the node's shell evaluates."""

    name: str
    value: str
    kind: Literal["literal", "shell"]
    origin: str


def line(flag: str, *values: str, origin: str) -> Line:
    """A line with one argument."""
    return Line(arguments=(Argument(flag=flag, values=values, origin=origin),))


def variable(flag: str, name: str, *, origin: str) -> Line:
    """A line with one argument whose value is a variable of the launch."""
    return Line(arguments=(Argument(flag=flag, values=(f"${name}",), origin=origin, is_variable=True),))
