"""A bundle's runs scored again: every figure that the recipe and result.json claim, beside what the logs give.

scored_again(root, contents, claim, folders)     -> figures, and a problem for each that differs
"""

from collections.abc import Iterator
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any, Final

from openrecipes.evidence.contents import Contents
from openrecipes.evidence.figures import FIGURES, Figure, derived_figures
from openrecipes.evidence.loss_curves import Role, claimed_logs, convergence_again
from openrecipes.evidence.ties import bounded_json
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.recipe.write import json_ready
from openrecipes.runs.left_files import NO_CHANGES
from openrecipes.score.expected import expected_of
from openrecipes.score.run_evidence import Run, read_run
from openrecipes.score.scorecard import Scorecard
from openrecipes.score.several_runs import score_runs

_RULE: Final = "figure-differs"
# What result.json holds in all digits, beside the keys of a result.
_STORED: Final = (
    *FIGURES,
    *("active_params.count", "step_time_s", "drift", "ledger.gpu_hours", "ledger.scored_share"),
    *("architecture_flops.per_token", "architecture_flops.mfu"),
)


def scored_again(
    root: Path, contents: Contents, claim: LocatedRecipe, folders: tuple[str, ...]
) -> tuple[tuple[Figure, ...], tuple[Problem, ...]]:
    """The figures that the logs give, beside those that the recipe and result.json claim."""
    stated = claim.recipe.result
    try:
        runs = _runs(root, contents, folders)
    except ProblemsError as error:
        return derived_figures(stated, None), error.problems
    card = score_runs(expected_of(claim.recipe), runs, allow_unsteady=bool(stated.unsteady))
    if card.is_refused:
        return derived_figures(stated, None), card.errors
    curves, unsaid = convergence_again(claim, _curve_logs(root, contents, claim.recipe))
    figures = (*derived_figures(stated, card.result()), *curves)
    wrong = tuple(
        Problem(
            place=claim.place(one.name if "." in one.name else f"result.{one.name}"),
            rule=_RULE,
            what=f"{_shown(one.claimed)}, but the runs give {_shown(one.derived)}",
            mend="openrecipes score RECIPE RUN_DIR --write writes what the run gives; then bundle again",
        )
        for one in figures
        if not one.ok
    )
    return figures, (*wrong, *unsaid, *_stored_result(root, folders, card))


def _runs(root: Path, contents: Contents, folders: tuple[str, ...]) -> list[Run]:
    """The runs; what is redacted stands for its original, whose hash has been held against run.json's by now."""
    runs = []
    for folder in folders:
        run, log = read_run(str(root / folder)), contents.find(f"{folder}/log/train.log")
        run = replace(run, changes=NO_CHANGES)
        runs.append(replace(run, log_sha256=log.original_sha256) if log and log.is_redacted else run)
    return runs


def _curve_logs(root: Path, contents: Contents, recipe: Recipe) -> dict[Role, Path]:
    """The logs of the convergence check by role: their own members, or the log of a run that is the same."""
    by_hash = {file.original_sha256: file.path for file in contents.files if file.path.endswith(".log")}
    return {role: root / by_hash[sha256] for role, sha256 in claimed_logs(recipe).items() if sha256 in by_hash}


def _stored_result(root: Path, folders: tuple[str, ...], card: Scorecard) -> Iterator[Problem]:
    """result.json of a single run, key by key, against what its log gives with all digits."""
    path = root / folders[0] / "result.json"
    if len(folders) > 1 or not path.is_file():
        return
    stored, derived = bounded_json(path), card.document()
    if not isinstance(stored, dict):
        yield _of_result(folders[0], "holds no result")
        return
    for name in _STORED:
        one, other = _at(stored, name), _at(derived, name)
        if one is not None and not _same(one, other):
            what = f"{name} is {_shown(one)}, but the log gives {_shown(other)}"
            yield _of_result(folders[0], what)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are one figure: a sum's last digits are the interpreter's, and Python 3.12's differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-12)
    return bool(one == other)


def _at(document: Any, name: str) -> Any:
    """The value of a dotted name, None where it is not there."""
    for part in name.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def _shown(value: Any) -> str:
    """A value as a recipe has it."""
    return "null" if value is None else str(json_ready(value))


def _of_result(folder: str, what: str) -> Problem:
    mend = "make the bundle again, from the run as it was left"
    return Problem(place=Place(file=f"{folder}/result.json"), rule=_RULE, what=what, mend=mend)
