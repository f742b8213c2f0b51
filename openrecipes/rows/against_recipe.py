"""A file of rows against what a recipe says of its rows, and which of the hashes can be compared at all."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from openrecipes.problems import Place, Problem
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.recipe.workload import Dataset
from openrecipes.rows.hash_forms import OTHER_FORM
from openrecipes.rows.manifest import MANIFEST_MISSING
from openrecipes.rows.verify import Verified

_KEY = "workload.dataset"
_SHA256_IN_TEXT = re.compile(r"sha256[: ]+([0-9a-f]{64})")


def pinned_tokenizer(dataset: Dataset) -> str | None:
    """The sha256 of the tokenizer file that the recipe names, or None if it names none."""
    match = _SHA256_IN_TEXT.search(dataset.build.tokenizer)
    return match[1] if match else None


def compared(path: Path, found: Verified, recipe: LocatedRecipe) -> Verified:
    """The verified rows with everything in which they differ from what the recipe says.

    Rows whose hash is the recipe's need no manifest: where it is missing, that is a warning.
    """
    dataset = recipe.recipe.workload.dataset
    same = (found.parquet_sha256, found.rows_sha256)
    if any(said is not None and said in same for said in (dataset.build.parquet_sha256, dataset.rows_sha256)):
        problems = tuple(
            replace(problem, severity="warning") if problem.rule == MANIFEST_MISSING else problem
            for problem in found.problems
        )
        found = replace(found, problems=problems)
    return found.with_problems(against_recipe(path, found, recipe))


def against_recipe(path: Path, found: Verified, recipe: LocatedRecipe) -> Iterator[Problem]:
    """Where rows and recipe differ: errors where both can be compared, a warning where a hash cannot."""
    dataset = recipe.recipe.workload.dataset
    build = dataset.build
    pairs: list[tuple[str, object, object]] = [
        ("build.rows", found.rows, build.rows),
        ("build.row_tokens", found.row_tokens, build.row_tokens),
        ("build.padding_tokens", found.padding_tokens, build.padding_tokens),
    ]
    if build.supervised_token_ratio is not None:
        digits = len(str(build.supervised_token_ratio).partition(".")[2])
        pairs.append(
            ("build.supervised_token_ratio", round(found.supervised_token_ratio, digits), build.supervised_token_ratio)
        )
    if found.manifest is not None:
        pairs += [
            ("build.seed", found.manifest.seed, build.seed),
            ("build.loss_mask", found.manifest.loss_mask, build.loss_mask),
        ]
        pinned = pinned_tokenizer(dataset)
        if pinned is not None:
            pairs.append(("build.tokenizer", found.manifest.tokenizer.sha256, pinned))
    for key, here, said in pairs:
        if here != said:
            mend = "build the rows from this recipe: openrecipes data build --recipe"
            yield _problem(path, recipe, key, f"{here}, but the recipe says {said}", mend)
    yield from _hashes(path, found, recipe)


def _hashes(path: Path, found: Verified, recipe: LocatedRecipe) -> Iterator[Problem]:
    dataset = recipe.recipe.workload.dataset
    if found.parquet_sha256 == dataset.build.parquet_sha256:
        return  # the very bytes that the recipe names; nothing more can be asked
    said = dataset.rows_sha256
    if said in (None, found.rows_sha256):
        return  # the same rows; the bytes of a parquet file differ between versions of pyarrow
    if said in OTHER_FORM:
        what = (
            f"{found.rows_sha256} cannot be compared with the recipe's {said}: that was made by a builder that is "
            "not public. Rows, length, padding, ratio and the bytes of the parquet file can; the bytes differ"
        )
        mend = "get the published file to run on the published rows; these rows are others, and results on them say so"
        yield _problem(path, recipe, "rows_sha256", what, mend, warning=True)
        return
    mend = "build the rows from this recipe, or use the file that it was measured with"
    yield _problem(path, recipe, "rows_sha256", f"{found.rows_sha256}, but the recipe says {said}", mend)


def _problem(path: Path, recipe: LocatedRecipe, key: str, what: str, mend: str, *, warning: bool = False) -> Problem:
    line = recipe.place(f"{_KEY}.{key}").line
    what = f"{what} ({recipe.file}{'' if line is None else f':{line}'})"
    place = Place(file=str(path), key=f"{_KEY}.{key}")
    rule = "rows-hash-not-comparable" if warning else "rows-as-recipe-says"
    return Problem(place=place, rule=rule, what=what, mend=mend, severity="warning" if warning else "error")
