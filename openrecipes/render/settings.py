"""A recipe's `arguments` as flags: how a key and a value are written, and laid over the flags that are there."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from openrecipes import units
from openrecipes.recipe.model import ArgumentValue
from openrecipes.render.argument import Argument, Line


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One entry of `arguments`: the key as written, its flag, and its value."""

    key: str
    flag: str
    value: ArgumentValue

    @property
    def is_left_out(self) -> bool:
        """Whether it takes a default away. For a flag with a `--no-…` form this is not that form."""
        return self.value is None or self.value is False

    @property
    def values(self) -> tuple[str, ...]:
        """The values as the command line has them; none for a bare flag."""
        if isinstance(self.value, bool) or self.value is None:
            return ()
        items = self.value if isinstance(self.value, tuple) else (self.value,)
        return tuple(item if isinstance(item, str) else units.on_a_command_line(item) for item in items)


def flag_of(key: str) -> str:
    """The flag that a key means: `min_lr` and `min-lr` are both `--min-lr`.

    The two flags of the trainer that hold an underscore are written with it.
    """
    flag = "--" + key.replace("_", "-")
    return flag.replace("opt-param-scheduler", "opt_param-scheduler")


def settings(arguments: Mapping[str, ArgumentValue] | None) -> tuple[Setting, ...]:
    """The entries of `arguments`, in the recipe's order."""
    return tuple(Setting(key=key, flag=flag_of(key), value=value) for key, value in (arguments or {}).items())


def laid_over(lines: Iterable[Line], over: Iterable[Setting]) -> tuple[Line, ...]:
    """The lines with each setting in the place of the flag it names, and what is new at the end, a line each."""
    by_flag = {setting.flag: setting for setting in over}
    lines = tuple(lines)
    present = {argument.flag for line in lines for argument in line.arguments}
    kept = tuple(replace(line, arguments=tuple(_overridden(line.arguments, by_flag))) for line in lines)
    new = (s for s in by_flag.values() if s.flag not in present and not s.is_left_out)
    return (
        *(line for line in kept if line.arguments),
        *(Line(arguments=(_argument(setting),)) for setting in new),
    )


def _overridden(arguments: Iterable[Argument], by_flag: Mapping[str, Setting]) -> Iterator[Argument]:
    for argument in arguments:
        setting = by_flag.get(argument.flag)
        if setting is None:
            yield argument
        elif not setting.is_left_out:
            yield _argument(setting)


def _argument(setting: Setting) -> Argument:
    return Argument(flag=setting.flag, values=setting.values, origin=f"arguments.{setting.key}")
