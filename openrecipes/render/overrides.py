"""Changes to a recipe by key: typed by the recipe's own models, with everything derived derived again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from openrecipes import units
from openrecipes.catalog.models import Model, model
from openrecipes.problems import Problem, ProblemsError, UsageError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import plain
from openrecipes.render.command import command
from openrecipes.render.derived import derive
from openrecipes.render.keys import split_key
from openrecipes.render.model_arguments import INFERRED
from openrecipes.render.refusals import refusals
from openrecipes.render.setting_problems import SET, Override, parsed_setting, setting_problems
from openrecipes.render.settings import flag_of
from openrecipes.render.training_arguments import published_default
from openrecipes.render.typed import typed

_FOLLOWS: Final = ("layout.dp", "result.window")  # derived where they are not set
_NAMED: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Overridden:
    """The changed recipe, the changes, where each changed key's value comes from, and the changes in words.

    `problems` say why the recipe has no command; where it is not `whole`, dp or window is not what should follow.
    """

    recipe: Recipe
    changes: tuple[Override, ...]
    origins: Mapping[str, str]
    deviations: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    whole: bool = True


def overridden(recipe: Recipe, settings: Sequence[str]) -> Overridden:
    """The recipe with each `KEY=VALUE` set, its figures empty, and all that follows from fields made anew.

    Raises: UsageError for a setting that names no key, has no fitting value, or changes nothing;
    ProblemsError where settings contradict each other or leave no legal recipe.
    """
    return with_overrides(recipe, tuple(parsed_setting(text) for text in settings))


def with_overrides(recipe: Recipe, overrides: Sequence[Override]) -> Overridden:
    """As `overridden`, for changes from any source; a later one of the same key from elsewhere wins."""
    changed = changed_by(recipe, overrides)
    if changed.problems:
        raise ProblemsError(*changed.problems)
    return changed


def changed_by(recipe: Recipe, overrides: Sequence[Override]) -> Overridden:
    """As `with_overrides`, but a recipe without a command comes back with its problems, to be told with others."""
    before = plain(recipe)
    named, after = _read(recipe, overrides, before)
    idle = _idle(named, before, after)
    ours = tuple(override for override in named if override not in idle)
    if not ours:
        return Overridden(recipe=recipe, changes=(), origins={}, deviations=())
    asked = {override.key: f"{override.source} {override.key}" for override in ours}
    try:
        derived = derive(recipe, after, asked)
        if not derived.problems:
            _raise(_without_effect(ours, recipe, derived.recipe))
    except ProblemsError as error:
        raise type(error)(*(_placed(problem, ours) for problem in error.problems)) from None
    return Overridden(
        recipe=derived.recipe,
        changes=ours,
        origins={**derived.origins, **asked},
        deviations=tuple(_deviation(override, before) for override in ours),
        problems=tuple(_placed(problem, ours) for problem in derived.problems),
        whole=derived.whole,
    )


def _read(
    recipe: Recipe, overrides: Sequence[Override], before: Mapping[str, Any]
) -> tuple[tuple[Override, ...], dict[str, Any]]:
    """The changes, one a key, and the plain data with them. Raises: UsageError with all that cannot be meant."""
    problems = list(setting_problems(recipe, overrides))
    bad = {problem.place for problem in problems}
    spelled = (_as_written(override, before) for override in overrides if override.place not in bad)
    named = tuple({override.key: override for override in spelled}.values())
    after, unfit = typed(before, [(split_key(o.key), o.text, o.place) for o in named])
    problems += unfit
    bad |= {problem.place for problem in unfit}
    for override in _idle(named, before, after):
        # Beside a mistake, the value that a derived key has may well be meant.
        if override.source == SET and override.place not in bad and not (problems and override.key in _FOLLOWS):
            problems.append(_says_what_is(override))
    _raise(problems)
    return named, after


def _raise(problems: Iterable[Problem]) -> None:
    found = tuple(problems)
    if found:
        raise UsageError(*found)


def _as_written(override: Override, before: Mapping[str, Any]) -> Override:
    """The same change under the spelling that the recipe uses, so that `min-lr` replaces `min_lr`."""
    name, _, entry = override.key.partition(".")
    if name != "arguments":
        return override
    same = (key for key in before.get("arguments") or {} if flag_of(key) == flag_of(entry))
    key = f"arguments.{next(same, entry)}"
    return Override(key=key, text=override.text, source=override.source)


def value_at(data: Mapping[str, Any], key: str, missing: Any = None) -> Any:
    """The value of a dotted key in plain data, `missing` where it is not there."""
    value: Any = data
    for part in split_key(key):
        if not isinstance(value, Mapping) or part not in value:
            return missing
        value = value[part]
    return value


def _idle(overrides: Sequence[Override], before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Override, ...]:
    """Those that leave their key as it is. One of a derived key may hold it there while others change."""
    idle = tuple(override for override in overrides if _is_same(override.key, before, after))
    if len(idle) == len(overrides):
        return idle
    return tuple(override for override in idle if override.key not in _FOLLOWS)


def _is_same(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    missing = object()
    old, new = value_at(before, key, missing), value_at(after, key, missing)
    return bool(old == new) and type(old) is type(new) if missing not in (old, new) else old is new


def _says_what_is(override: Override) -> Problem:
    what = f"is {override.text} already" if override.text else "is empty already"
    return override.problem("set-no-effect", what, "leave it out")


def _placed(problem: Problem, overrides: Sequence[Override]) -> Problem:
    """The problem at the override that it is about; one about another key says which overrides there are."""
    if problem.place.file:
        return problem
    place = next((override.place for override in overrides if override.key == problem.place.key), None)
    return (
        replace(problem, place=place) if place else replace(problem, what=f"{problem.what}, with {in_words(overrides)}")
    )


def in_words(overrides: Sequence[Override]) -> str:
    """The first few overrides, for a problem that follows from them: `--set layout.tp=4 and --set layout.pp=2`."""
    named = [f"{override.source} {override.key}={override.text[:40]}" for override in overrides[:_NAMED]]
    more = len(overrides) - len(named)
    return " and ".join(named) + (f" and {more} more" if more else "")


def _without_effect(overrides: Sequence[Override], recipe: Recipe, changed: Recipe) -> Iterator[Problem]:
    """Arguments that the command has or lacks anyway."""
    ours = [override for override in overrides if override.key.startswith("arguments.")]
    if not ours:
        return
    found = model(changed.model)
    launched = _launched(changed, found)
    for override in ours:
        name = override.key.partition(".")[2]
        others = {key: value for key, value in (changed.arguments or {}).items() if key != name}
        original = {key: value for key, value in (recipe.arguments or {}).items() if key == name}
        # With the recipe's own summary: what it infers from those words is what the setting may take away.
        words = changed.layout.model_copy(update={"summary": recipe.layout.summary})
        without = changed.model_copy(update={"arguments": {**others, **original}, "layout": words})
        if not refusals(without, found) and _launched(without, found) == launched:
            what = f"{override.text} changes nothing: the command is the same without it"
            mend = "leave it out; a flag with a `no` form is a key of its own, as no_rope_fusion=true"
            yield override.problem("set-no-effect", what, mend)


def _launched(recipe: Recipe, found: Model) -> list[tuple[bool, tuple[str, ...]]]:
    """What is launched, in no order, and whether it is inferred: to say what was inferred is an effect."""
    arguments = command(recipe, found).arguments
    return sorted((argument.origin.startswith(INFERRED), argument.argv) for argument in arguments)


def _deviation(override: Override, before: Mapping[str, Any]) -> str:
    old = value_at(before, override.key)
    is_there = value_at(before, override.key, ...) is not ...
    had = f"the recipe has {shown(old)}" if is_there else "not in the recipe"
    name, _, entry = override.key.partition(".")
    default = published_default(flag_of(entry)) if name == "arguments" and old is None else None
    if default is not None:
        had = f"published default {default}"
    return f"{override.key}={override.text} ({override.source}; {had})"


def shown(value: Any) -> str:
    """A value as `--set` takes it: `true`, `null`, `[4, 13]`, `{granularity: full}`, or its own text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return units.on_a_command_line(value) if isinstance(value, int | float) else str(value)
