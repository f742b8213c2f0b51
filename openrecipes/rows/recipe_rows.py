"""The rows that a recipe asks for, as settings of a build."""

from openrecipes.problems import Problem, ProblemsError
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.rows.against_recipe import pinned_tokenizer
from openrecipes.rows.build import BuildSettings
from openrecipes.rows.embedded_tokenizer import EMBEDDED
from openrecipes.rows.loss_mask import RULE
from openrecipes.rows.tokenizer import read_tokenizer


def recipe_settings(
    recipe: LocatedRecipe, *, tokenizer: str | None = None, other_tokenizer: bool = False, workers: int | None = None
) -> BuildSettings:
    """The settings that a recipe's `workload.dataset` gives.

    A tokenizer other than the one the recipe pins is refused, unless `other_tokenizer` says so: then the rows carry
    another name, the recipe's with the first 8 digits of the tokenizer's hash.

    Raises: ProblemsError for such a tokenizer, or a loss mask or padding that no builder here makes; UsageError if
    there is no such tokenizer.
    """
    dataset = recipe.recipe.workload.dataset
    build, name = dataset.build, dataset.build.name
    problems = []
    if build.loss_mask != RULE:
        what, mend = f"{build.loss_mask}, and rows are built with {RULE} only", f"set it to {RULE}"
        problems.append(_problem(recipe, "loss_mask", "loss-mask-known", what, mend))
    if build.padding_tokens:
        what, mend = f"{build.padding_tokens}, and rows are built without padding", "set it to 0"
        problems.append(_problem(recipe, "padding_tokens", "no-padding", what, mend))
    used = tokenizer or EMBEDDED
    sha256, pinned = read_tokenizer(used).sha256, pinned_tokenizer(dataset)
    if pinned not in (None, sha256):
        if not other_tokenizer:
            what = f"pins the file of sha256 {pinned}, and {used} has {sha256}"
            mend = "name that tokenizer.json with --tokenizer, or add --other-tokenizer for rows of another name"
            problems.append(_problem(recipe, "tokenizer", "tokenizer-pinned", what, mend))
        name = f"{name}-tokenizer-{sha256[:8]}"
    if problems:
        raise ProblemsError(*problems)
    return BuildSettings(
        name=name, tokenizer=used, rows=build.rows, row_tokens=build.row_tokens, seed=build.seed, workers=workers
    )


def _problem(recipe: LocatedRecipe, key: str, rule: str, what: str, mend: str) -> Problem:
    return Problem(place=recipe.place(f"workload.dataset.build.{key}"), rule=rule, what=what, mend=mend)
