"""A bundle, opened without trust: every hash and every figure derived again, offline; whatever differs refuses it.

verify(path)     -> Verified; .ok only if nothing at all is wrong
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from openrecipes.evidence.archive import Member, read_archive
from openrecipes.evidence.contents import CONTENTS, MAX_CONTENTS_BYTES, RECIPE, Contents, run_folder
from openrecipes.evidence.figures import FIGURES, Figure, derived_figures
from openrecipes.evidence.leftovers import left_private
from openrecipes.evidence.loss_curves import ROLES, Role, claimed_logs, convergence_again, member_of
from openrecipes.evidence.ties import RunTies, bounded_json
from openrecipes.problems import Place, Problem, ProblemsError, errors_in, in_order
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.recipe.write import json_ready
from openrecipes.runs.json_files import read_json, sha256_of
from openrecipes.score.expected import expected_of
from openrecipes.score.run_evidence import Run, read_run
from openrecipes.score.scorecard import Scorecard
from openrecipes.score.several_runs import score_runs

MAX_FILE_BYTES: Final = 64 * 2**20
_MAY_BE_LARGE: Final = (".log", ".jsonl")
_MEND: Final = "make the bundle again, from the run as it was left"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """What became of a bundle. `recipe` and `contents` are None where it could not even be opened."""

    figures: tuple[Figure, ...]
    problems: tuple[Problem, ...]
    recipe: Recipe | None = None
    contents: Contents | None = None
    recipe_sha256: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every hash and every figure holds."""
        return bool(self.figures) and all(figure.ok for figure in self.figures) and not errors_in(self.problems)

    def document(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "ok": self.ok,
            "redacted": self.contents.redacted if self.contents else None,
            "redacted_files": [one.model_dump() for one in self.contents.files if one.is_redacted]
            if self.contents
            else [],
            "runs": self.contents.runs if self.contents else None,
            "recipe_sha256": self.recipe_sha256,
            "figures": [figure.document() for figure in self.figures],
            "problems": [problem.document() for problem in self.problems],
        }


def verify(path: Path, *, named: str | None = None, against: Path | None = None) -> Verified:
    """The bundle at a path, which problems call `named`; `against` is the recipe file that it must be of.

    Raises: UsageError if one of the two cannot be read.
    """
    title = named or str(path)
    wanted = sha256_of(against) if against else None
    with tempfile.TemporaryDirectory(prefix="openrecipes-verify-") as scratch:
        root = Path(scratch).resolve()
        archive = read_archive(path, root)
        found = _opened(root, archive.members, archive.problems)
        placed = tuple(_relocated(problem, root, str(path), title) for problem in found.problems)
    if wanted is not None and found.recipe_sha256 not in (None, wanted):
        what, mend = f"is not the recipe of {title}", "bundle this very file, or submit the bundle's recipe.yaml"
        placed += (Problem(place=Place(file=str(against)), rule="bundle-recipe", what=what, mend=mend),)
    return replace(found, problems=in_order(placed))


def _opened(root: Path, members: Sequence[Member], problems: tuple[Problem, ...]) -> Verified:
    if problems:
        return Verified(figures=(), problems=problems)
    try:
        contents = _contents(root)
        listed = tuple(_listed(contents, members))
        if any(problem.rule != "bundle-hash" for problem in listed):
            return Verified(figures=(), problems=listed, contents=contents)
        claim = read_recipe(root / RECIPE)
    except ProblemsError as error:
        return Verified(figures=(), problems=error.problems)
    recipe_file = contents.find(RECIPE)
    folders = tuple(run_folder(number) for number in range(1, contents.runs + 1))
    found = [*listed]
    for folder in folders:
        found += RunTies(root / folder, contents, claim).problems()
    found += left_private(root, contents)
    found += _unclaimed(contents, claim)
    # What is wrong by now refuses the bundle; the figures say what was meant by it.
    figures, more = _scored(root, contents, claim, folders)
    found += more
    return Verified(
        figures=figures,
        problems=(*found, *_notes(contents)),
        recipe=claim.recipe,
        contents=contents,
        recipe_sha256=recipe_file.sha256 if recipe_file else None,
    )


def _contents(root: Path) -> Contents:
    path = root / CONTENTS
    if not path.is_file() or path.stat().st_size > MAX_CONTENTS_BYTES:
        raise ProblemsError(_problem(CONTENTS, "is not there, or too large to be one", "bundle-contents"))
    contents = read_json(path, Contents, "list of a bundle's contents")
    names = [file.path for file in contents.files]
    if len(set(names)) != len(names) or contents.runs > len(names):
        raise ProblemsError(_problem(CONTENTS, "lists a file twice, or more runs than files", "bundle-contents"))
    return contents


def _listed(contents: Contents, members: Sequence[Member]) -> Iterator[Problem]:
    """The members against the list of them: none more, none less, each with its hash."""
    there = {member.name: member for member in members if member.name != CONTENTS}
    folders = {run_folder(number) for number in range(1, contents.runs + 1)}
    known = {RECIPE, *(member_of(role) for role in ROLES)}
    for file in contents.files:
        member = there.pop(file.path, None)
        if member is None:
            yield _problem(file.path, f"is listed in {CONTENTS}, but not in the bundle", "bundle-missing")
        elif (member.sha256, member.size_bytes) != (file.sha256, file.size_bytes):
            yield _problem(file.path, f"is not the file that {CONTENTS} lists: its hash differs", "bundle-hash")
        elif member.size_bytes > MAX_FILE_BYTES and not file.path.endswith(_MAY_BE_LARGE):
            yield _problem(file.path, f"has {member.size_bytes} bytes, more than any such file", "bundle-size")
        elif file.path not in known and file.path.partition("/")[0] not in folders:
            yield _problem(file.path, "does not belong into a bundle", "bundle-extra")
        elif file.is_redacted and not contents.redacted:
            yield _problem(
                file.path, "is not the original, but the bundle says that nothing is redacted", "bundle-hash"
            )
    for name in there:
        yield _problem(name, f"is in the bundle, but not listed in {CONTENTS}", "bundle-extra")
    if contents.find(RECIPE) is None:
        yield _problem(RECIPE, "is not in the bundle", "bundle-missing")


def _unclaimed(contents: Contents, claim: LocatedRecipe) -> Iterator[Problem]:
    """Logs of curves that are not the ones which the convergence check names."""
    named = claimed_logs(claim.recipe)
    for role in ROLES:
        file = contents.find(member_of(role))
        if file is not None and file.original_sha256 != named.get(role):
            yield _problem(file.path, f"is not the {role}'s log that correctness.convergence names", "bundle-tie")


def _scored(
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
            rule="figure-differs",
            what=f"{_shown(one.claimed)}, but the runs give {_shown(one.derived)}",
            mend="openrecipes score RECIPE RUN_DIR --write writes what the run gives; then bundle again",
        )
        for one in figures
        if not one.ok
    )
    return figures, (*wrong, *unsaid, *_stored_result(root, folders, card))


def _runs(root: Path, contents: Contents, folders: tuple[str, ...]) -> list[Run]:
    """The runs; a redacted log stands for its original, whose hash has been held against run.json's by now."""
    runs = []
    for folder in folders:
        run, log = read_run(str(root / folder)), contents.find(f"{folder}/log/train.log")
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
        yield _problem(f"{folders[0]}/result.json", "holds no result", "figure-differs")
        return
    for name in (*FIGURES, "step_time_s", "drift"):
        if name in stored and stored[name] != derived[name]:
            what = f"{name} is {_shown(stored[name])}, but the log gives {_shown(derived[name])}"
            yield _problem(f"{folders[0]}/result.json", what, "figure-differs")


def _notes(contents: Contents) -> Iterator[Problem]:
    redacted = [file.path for file in contents.files if file.is_redacted]
    if redacted:
        yield replace(
            _problem(
                redacted[0],
                f"is redacted, as are {len(redacted) - 1} more: the hashes of the originals are stated, not derived",
                "bundle-redacted",
            ),
            mend="ask the author for the originals where their own bytes matter",
            severity="warning",
        )


def _shown(value: Any) -> str:
    """A value as a recipe has it."""
    return "null" if value is None else str(json_ready(value))


def _problem(name: str, what: str, rule: str) -> Problem:
    return Problem(place=Place(file=name), rule=rule, what=what, mend=_MEND)


def _relocated(problem: Problem, root: Path, path: str, title: str) -> Problem:
    """The problem with the bundle's name before the member's, and no word of where it was unpacked."""
    prefix = f"{root}/"
    member = problem.place.file.removeprefix(prefix)
    file = title if member in ("", path) else f"{title}!{member}"
    return replace(
        problem,
        place=replace(problem.place, file=file),
        what=problem.what.replace(prefix, ""),
        mend=problem.mend.replace(prefix, ""),
    )
