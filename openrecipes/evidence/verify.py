"""A bundle, opened without trust: every hash and every figure derived again, offline; whatever differs refuses it.

verify(path)                     -> Verified; .ok only if nothing at all is wrong
held_against(found, path, recipe)   the same, refused unless it is of this very recipe file
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from openrecipes.evidence.archive import Member, read_archive
from openrecipes.evidence.contents import CONTENTS, MAX_CONTENTS_BYTES, RECIPE, Contents, run_folder
from openrecipes.evidence.figures import Figure
from openrecipes.evidence.leftovers import left_private
from openrecipes.evidence.loss_curves import ROLES, claimed_logs, member_of
from openrecipes.evidence.scored_again import scored_again
from openrecipes.evidence.ties import RunTies
from openrecipes.logs.sources import is_compressed
from openrecipes.problems import Place, Problem, ProblemsError, errors_in, in_order, unreadable
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.runs.json_files import read_json, sha256_of

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


def verify(path: Path, *, named: str | None = None) -> Verified:
    """The bundle at a path, which problems call `named`.

    Raises: UsageError if it cannot be read.
    """
    title = named or str(path)
    with tempfile.TemporaryDirectory(prefix="openrecipes-verify-") as scratch:
        root = Path(scratch).resolve()
        archive = read_archive(path, root)
        found = _opened(root, archive.members, archive.problems)
        placed = tuple(_relocated(problem, root, str(path), title) for problem in found.problems)
    return replace(found, problems=in_order(placed))


def held_against(found: Verified, path: Path, recipe: Path) -> Verified:
    """What was found of the bundle at `path`, which must be of this recipe file, byte for byte.

    Raises: UsageError if the recipe file cannot be read.
    """
    try:
        wanted = sha256_of(recipe)
    except OSError as error:
        raise unreadable(str(recipe), f"cannot be read: {error.strerror or error}") from None
    if found.recipe_sha256 in (None, wanted):
        return found
    what, mend = f"is not the recipe of {path}", "bundle this very file, or submit the bundle's recipe.yaml"
    other = Problem(place=Place(file=str(recipe)), rule="bundle-recipe", what=what, mend=mend)
    return replace(found, problems=in_order((*found.problems, other)))


def _opened(root: Path, members: Sequence[Member], problems: tuple[Problem, ...]) -> Verified:
    if problems:
        return Verified(figures=(), problems=problems)
    try:
        contents = _contents(root)
        listed = tuple(_listed(root, contents, members))
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
    figures, more = scored_again(root, contents, claim, folders)
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


def _listed(root: Path, contents: Contents, members: Sequence[Member]) -> Iterator[Problem]:
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
        elif file.path.endswith(".log") and is_compressed(root / file.path):
            # It would be read decompressed, without a bound, and nobody would have looked for private values in that.
            yield _problem(file.path, "is compressed, and a bundle holds logs as plain text", "bundle-packed")
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
