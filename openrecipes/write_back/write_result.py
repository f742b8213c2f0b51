"""A measured result into its recipe file, and other blocks into theirs.

write_result(read_recipe(path), scorecard.result())             -> Written
write_result(located, result, launched=recipe_as_launched)      the run's own recipe, where it differs
write_block(located, "correctness", plain(correctness))         -> Written
text_with_result(located, result)                               -> str, nothing written
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openrecipes.problems import ProblemsError, errors_in
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.recipe.result import Result
from openrecipes.recipe.write import plain
from openrecipes.write_back.as_launched import refuse_as_launched
from openrecipes.write_back.evidence import other_work, weaker
from openrecipes.write_back.replace_file import replace_file
from openrecipes.write_back.result_patch import BlockName, text_with_block

_EARLIER = "of an earlier run: "
_OF_THE_RECORD = ("render_sha256", "weights", "deviations")


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What a write did: the file as named, its whole text now, and whether that differs from before."""

    file: str
    text: str
    changed: bool


def write_result(
    located: LocatedRecipe, result: Result, *, launched: Recipe | None = None, force: bool = False
) -> Written:
    """Replaces the `result` block of the recipe's file and nothing else.

    `launched` is the recipe as the run had it (default: the file's own). The stored GPU-hours stay where the new
    result has none. Raises: ProblemsError, nothing written, if the file's result has stronger evidence or the run did
    other work (both unless `force`), a comment would be lost, the file was changed since `located` was read, or it is a
    run's recipe as launched; UsageError or OutsideError if it cannot be written.
    """
    if not force:
        status = (launched or located.recipe).status
        refused = (*other_work(located, launched or located.recipe), *weaker(located, result, status))
        if refused:
            raise ProblemsError(*refused)
    return _written(located, text_with_result(located, result))


def text_with_result(located: LocatedRecipe, result: Result) -> str:
    """The recipe's text with this result in it, stored GPU-hours kept where the result has none.

    Raises: ProblemsError if the text cannot be changed in that block alone.
    """
    return text_with_block(located.text, located.file, "result", plain(_with_known(located.recipe.result, result)))


def write_block(located: LocatedRecipe, key: BlockName, value: dict[str, Any]) -> Written:
    """Replaces one block of the recipe's file by plain data and nothing else.

    Raises: as write_result, but weighs no evidence.
    """
    return _written(located, text_with_block(located.text, located.file, key, value))


def _written(located: LocatedRecipe, text: str) -> Written:
    refuse_as_launched(located)
    if errors_in(located.problems):
        raise ProblemsError(*located.problems)
    if text != located.text:
        replace_file(Path(located.file), located.text, text)
    return Written(file=located.file, text=text, changed=text != located.text)


def _with_known(old: Result, new: Result) -> Result:
    """The new result, with what a run record told of the same log before, where this time there was no record."""
    kept: dict[str, Any] = {}
    if old.log_sha256 is not None and old.log_sha256 == new.log_sha256:
        kept = {name: getattr(old, name) for name in _OF_THE_RECORD if getattr(new, name) is None}
    known = {name: value for name, value in kept.items() if value is not None}
    return _with_gpu_hours(old, new.model_copy(update=known))


def _with_gpu_hours(old: Result, new: Result) -> Result:
    """The new result; where it has no GPU-hours, with the stored ones, marked where they are of another log."""
    if new.gpu_hours is not None or old.gpu_hours is None:
        return new
    note = old.gpu_hours_note
    if old.log_sha256 != new.log_sha256 and not (note or "").startswith(_EARLIER):
        note = _EARLIER + (note or "no note")
    return new.model_copy(update={"gpu_hours": old.gpu_hours, "gpu_hours_note": note})
