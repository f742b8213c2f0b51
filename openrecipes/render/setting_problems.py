"""One change to a recipe by its key, and what can be wrong with it before its value is read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.arguments import stack_id_of, stack_parser
from openrecipes.problems import Place, Problem, nearest
from openrecipes.recipe.model import Recipe
from openrecipes.render.keys import MAPPINGS, keys, not_set_by_hand
from openrecipes.render.settings import flag_of

SET: Final = "--set"


@dataclass(frozen=True, kw_only=True, slots=True)
class Override:
    """One change: a dotted key, the value as text, and where it comes from (`--set`, a cluster profile)."""

    key: str
    text: str
    source: str = SET
    has_value: bool = True

    @property
    def place(self) -> Place:
        """The key, in what it comes from."""
        return Place(file=self.source, key=self.key)

    def problem(self, rule: str, what: str, mend: str) -> Problem:
        """A problem with this change."""
        return Problem(place=self.place, rule=rule, what=what, mend=mend)


def parsed_setting(text: str) -> Override:
    """The change that `KEY=VALUE` asks for."""
    key, equals, value = text.partition("=")
    return Override(key=key.strip(), text=value, has_value=bool(equals))


def setting_problems(recipe: Recipe, overrides: Sequence[Override]) -> Iterator[Problem]:
    """What is wrong with changes whatever their values: no such key, no value, not to be set, set twice."""
    seen: dict[tuple[str, str], str] = {}
    for override in overrides:
        reason = not_set_by_hand(override.key, override.text)
        if reason:
            yield override.problem("set-derived", reason.what, reason.mend)
        elif not _is_known(override.key):
            yield _unknown(override)
        elif not override.has_value:
            yield override.problem("set-value", "has no value", f"write {override.source} {override.key}=VALUE")
        first = seen.setdefault((override.source, override.key), override.text)
        if first != override.text:
            what = f"is set to {first} and to {override.text}"
            yield override.problem("set-twice", what, "keep one of the two")
    yield from _unknown_flags(recipe, overrides)


def _is_known(key: str) -> bool:
    name, dot, entry = key.partition(".")
    return bool(entry) if dot and name in MAPPINGS else key in keys()


def _unknown(override: Override) -> Problem:
    known = [*keys(), *MAPPINGS]
    same_end = [key for key in known if key.rpartition(".")[2] == override.key.rpartition(".")[2]]
    guess = same_end[0] if len(same_end) == 1 else nearest(override.key, known)
    what, written = "is no key of a recipe", ""
    if override.key in MAPPINGS:
        what, guess = "holds many values", f"{override.key}.NAME"
    elif not override.key:
        what, guess = "names no key", "KEY=VALUE"
    elif not override.has_value:
        what, written = "is no KEY=VALUE, and no key of a recipe", "=VALUE"
    listed = "`openrecipes show RECIPE --json` prints all keys"
    mend = f"write {guess}{written}" if guess else f"write {override.source} KEY=VALUE; {listed}" if written else listed
    return override.problem("set-unknown-key", what, mend)


def _unknown_flags(recipe: Recipe, overrides: Sequence[Override]) -> Iterator[Problem]:
    """Arguments that slime has not at the recipe's commits, and would drop without a word."""
    stack = stack_id_of(recipe.stack.framework or "", recipe.stack.megatron_lm or "")
    if recipe.trainer != "slime" or stack is None:
        return
    for override in overrides:
        name, _, entry = override.key.partition(".")
        known = stack_parser(stack) if name == "arguments" and entry else None
        if known is not None and known.find(flag_of(entry)) is None:
            guess = known.nearest(flag_of(entry))
            mend = f"write arguments.{guess.removeprefix('--').replace('-', '_')}" if guess else "leave it out"
            what = f"slime has no {flag_of(entry)}, and would drop it in silence"
            yield override.problem("argument-unknown", what, mend)
