"""Every argument that a run has in effect: the parser's defaults, the command over them, what the trainer derives.

of_recipe(recipe, model, catalogue)    -> Effective, from the command that the fields give
of_dump(log.arguments, catalogue)      -> Effective, from what the trainer itself printed
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from openrecipes.catalog.arguments import Argument as ParserArgument
from openrecipes.catalog.arguments import ArgumentCatalogue
from openrecipes.catalog.models import Model
from openrecipes.correctness.argument_values import canonical
from openrecipes.correctness.derivations import DERIVATIONS, IN_THE_ACTORS, Derivation
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Argument
from openrecipes.render.command import command

DEFAULT: Final = "default"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One value in effect, as canonical text, and where it comes from."""

    value: str
    origin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Effective:
    """Settings by the trainer's own attribute. `dropped` are flags that its parser does not know and leaves out."""

    source: str
    settings: Mapping[str, Setting]
    dropped: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str | None:
        """The value of an attribute, or None where it is not there."""
        found = self.settings.get(name)
        return found.value if found else None


def of_recipe(recipe: Recipe, model: Model, catalogue: ArgumentCatalogue, *, source: str) -> Effective:
    """What a slime recipe's command has in effect.

    Raises: ProblemsError where the fields give no command.
    """
    settings = {
        argument.dest: Setting(value=canonical(argument.default), origin=DEFAULT) for argument in catalogue.arguments
    }
    by_flag = {flag: argument for argument in catalogue.arguments for flag in argument.flags}
    dropped: dict[str, str] = {}
    for given in command(recipe, model).arguments:
        known = by_flag.get(given.flag)
        if known is None:
            dropped[given.flag] = " ".join(given.values) or "set"
        else:
            settings[known.dest] = Setting(value=_given(given, known), origin=given.origin)
    return Effective(source=source, settings=_derived(settings, (*DERIVATIONS, *IN_THE_ACTORS)), dropped=dropped)


def of_dump(arguments: Mapping[str, str], *, source: str) -> Effective:
    """What the trainer printed; what the actors derive after that is added."""
    settings = {name: Setting(value=canonical(text), origin="log") for name, text in arguments.items()}
    return Effective(source=source, settings=_derived(settings, IN_THE_ACTORS))


def settings_sha256(effective: Effective, environment: Mapping[str, str]) -> str:
    """A hash over all settings and variables: equal where nothing differs, whatever order they were given in."""
    lines = sorted(
        (
            *(f"{name}={setting.value}\n" for name, setting in effective.settings.items()),
            *(f"{flag} {value}\n" for flag, value in effective.dropped.items()),
            *(f"env {name}={value}\n" for name, value in environment.items()),
        )
    )
    return sha256("".join(lines).encode()).hexdigest()


def _given(given: Argument, known: ParserArgument) -> str:
    if known.action in ("store_true", "store_false"):
        return canonical(known.action == "store_true")
    if known.action == "boolean_optional":
        return canonical(not given.flag.startswith("--no-"))
    if known.nargs is not None:
        return canonical(given.values)
    return canonical(given.values[-1] if given.values else None)


def _derived(settings: Mapping[str, Setting], derivations: Iterable[Derivation]) -> Mapping[str, Setting]:
    """The settings with each derivation applied in order, every one seeing what those before it did."""
    found = dict(settings)
    for derivation in derivations:
        for name, value in _changes(derivation, found):
            found[name] = Setting(value=value, origin=f"derived: {derivation.says}")
    return found


def _changes(derivation: Derivation, settings: Mapping[str, Setting]) -> Iterator[tuple[str, str]]:
    plain = {name: setting.value for name, setting in settings.items()}
    for name, value in derivation.change(plain).items():
        if plain.get(name) != value:
            yield name, value
