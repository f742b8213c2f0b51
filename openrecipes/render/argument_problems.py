"""What is wrong with a recipe's `arguments`."""

from collections.abc import Iterator, Mapping
from typing import Final

from openrecipes.catalog.models import Model
from openrecipes.problems import Place, Problem, nearest
from openrecipes.recipe.model import Recipe
from openrecipes.render.model_arguments import fixed_flags
from openrecipes.render.ownership import FIELD_OF, PATHS, SMOKE_FIELD_OF, TASK
from openrecipes.render.settings import Setting, settings
from openrecipes.render.smoke_arguments import SMOKE_FLAGS
from openrecipes.render.training_arguments import default_lines

_TAKES_VALUE: Final[Mapping[str, bool]] = {
    argument.flag: bool(argument.values) for found in default_lines() for argument in found.arguments
}


def argument_problems(recipe: Recipe, model: Model) -> Iterator[Problem]:
    """Settings that something else decides, that stand twice, or that no command line can carry."""
    first: dict[str, str] = {}
    fixed = frozenset() if recipe.trainer == "smoke" else fixed_flags(model)
    for setting in settings(recipe.arguments):
        if setting.flag in first:
            what = f"is {setting.flag}, as {first[setting.flag]} already is"
            yield _problem(setting, "argument-twice", what, "keep one of the two")
            continue
        first[setting.flag] = setting.key
        owned = _owned(recipe, setting, fixed, model.name)
        if owned is not None:
            yield owned
        elif recipe.trainer == "smoke" and setting.flag not in SMOKE_FLAGS:
            yield _unknown_to_smoke(setting)
        else:
            yield from _value_problems(setting)


def _owned(recipe: Recipe, setting: Setting, fixed: frozenset[str], model: str) -> Problem | None:
    fields = SMOKE_FIELD_OF if recipe.trainer == "smoke" else FIELD_OF
    if setting.flag in fields:
        key = fields[setting.flag]
        return _problem(setting, "argument-field", f"{key} decides {setting.flag}", f"remove it, and set {key}")
    if setting.flag in fixed:
        what = f"the model {model} decides {setting.flag}"
        return _problem(setting, "argument-model", what, "remove it; another shape is another model of the catalogue")
    if setting.flag in PATHS:
        what = f"the launch decides {setting.flag}, which is a path on the cluster"
        return _problem(setting, "argument-launch", what, "remove it; the cluster profile names the path")
    if setting.flag in TASK:
        what = f"{setting.flag} is the same for every recipe: supervised fine-tuning on packed rows"
        return _problem(setting, "argument-task", what, "remove it")
    return None


def _unknown_to_smoke(setting: Setting) -> Problem:
    guess = nearest(setting.flag, SMOKE_FLAGS)
    mend = f"write {guess.removeprefix('--').replace('-', '_')}, or remove it" if guess else "remove it"
    return _problem(setting, "argument-unknown", f"the smoke trainer has no {setting.flag}", mend)


def _value_problems(setting: Setting) -> Iterator[Problem]:
    takes_value = _TAKES_VALUE.get(setting.flag)
    if takes_value is True and setting.value is True:
        what = f"true, but {setting.flag} takes a value"
        yield _problem(setting, "argument-value", what, "write the value, or null to leave the flag out")
    if takes_value is False and not isinstance(setting.value, bool | None):
        what = f"{' '.join(setting.values)[:80]}, but {setting.flag} takes no value"
        yield _problem(setting, "argument-value", what, "write true, or false to leave the flag out")
    if setting.value == ():
        yield _problem(setting, "argument-value", "is an empty list", "write its values, or null to leave the flag out")
    for value in setting.values:
        if "\0" in value:
            what = "holds a NUL character, which no command line can"
            yield _problem(setting, "argument-value", what, "remove it")
        elif value.startswith("-") and not _is_number(value):
            what = f"{value[:80]} begins with a dash, so that the trainer would read it as a flag"
            yield _problem(setting, "argument-value", what, "write a value that does not begin with a dash")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _problem(setting: Setting, rule: str, what: str, mend: str) -> Problem:
    return Problem(place=Place(key=f"arguments.{setting.key}"), rule=rule, what=what, mend=mend)
