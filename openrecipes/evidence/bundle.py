"""Everything behind a result in one file.

bundle(recipe, runs, output, redact=False)     -> Bundled; the file is there only if it verifies

Equal runs and recipes give equal bytes: members in a fixed order, no clock, no owner.
"""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from openrecipes import __version__
from openrecipes.evidence.archive import is_name, write_archive
from openrecipes.evidence.contents import CONTENTS, RECIPE, BundledFile, Contents, run_folder
from openrecipes.evidence.loss_curves import Role, claimed_logs, member_of
from openrecipes.evidence.output_file import refuse_output
from openrecipes.evidence.patterns import WORDS
from openrecipes.evidence.privacy import PrivateValue, Redactor, Scanner
from openrecipes.evidence.run_files import TELEMETRY, RunFile, known_words, run_files
from openrecipes.evidence.text_lines import text_lines
from openrecipes.evidence.verify import Verified, verify
from openrecipes.logs.sources import chunks, log_files, opened
from openrecipes.problems import OutsideError, Place, Problem, ProblemsError, UsageError, errors_in
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.runs.directory import open_run_directory
from openrecipes.runs.json_files import json_text, sha256_of

_NAMED: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundled:
    """A bundle that was written, what its verification found, and how many values of which kind were replaced."""

    file: Path
    sha256: str
    size_bytes: int
    contents: Contents
    verified: Verified
    replaced: dict[str, int]


def bundle(
    recipe: LocatedRecipe, runs: Sequence[Path], output: Path, *, redact: bool = False, curves: Sequence[str] = ()
) -> Bundled:
    """The result of a recipe with its runs, and the logs of the `curves` of its convergence check, as one file.

    Raises: UsageError for what is no run directory, no log that the check names, or a file that would be lost under
    the bundle; ProblemsError, nothing written, where files are missing, something in them is private (unless `redact`
    replaces it), or the figures are not those of the runs.
    """
    refuse_output(output)
    directories = [open_run_directory(root) for root in runs]
    records = [directory.record() for directory in directories]
    packer = _Packer(redactor=Redactor(words=known_words(tuple(zip(directories, records, strict=True)))), redact=redact)
    with tempfile.TemporaryDirectory(prefix="openrecipes-bundle-") as scratch:
        packer.stage = Path(scratch) / "stage"
        packer.add(RECIPE, RunFile(name=RECIPE, path=Path(recipe.file)))
        for number, (directory, record) in enumerate(zip(directories, records, strict=True), 1):
            for file in run_files(directory, record):
                packer.add(f"{run_folder(number)}/{packer.member_name(file)}", file)
        for role, log in _curve_logs(recipe, curves, Path(scratch)).items():
            packer.add(member_of(role), RunFile(name=member_of(role), path=log))
        packer.refuse()
        contents = packer.contents(len(directories))
        made = Path(scratch) / "made.tar.gz"
        write_archive(made, packer.members(contents))
        verified = verify(made, named=str(output))
        if errors_in(verified.problems):
            raise ProblemsError(*verified.problems)
        _put(made, output)
    return Bundled(
        file=output,
        sha256=sha256_of(output),
        size_bytes=output.stat().st_size,
        contents=contents,
        verified=verified,
        replaced={str(kind): count for kind, count in packer.redactor.replaced.items()},
    )


def _curve_logs(recipe: LocatedRecipe, sources: Sequence[str], scratch: Path) -> dict[Role, Path]:
    """The logs of the convergence check, unpacked, by the role in which the recipe names their hash.

    Raises: UsageError for a log that it does not name.
    """
    roles = {sha256: role for role, sha256 in claimed_logs(recipe.recipe).items()}
    found: dict[Role, Path] = {}
    for number, source in enumerate(sources):
        copy = scratch / f"curve-{number}.log"
        files = log_files([source])
        with opened(files[0]) as stream, copy.open("wb") as file:
            for piece in chunks(stream):
                file.write(piece)
        role = roles.get(sha256_of(copy))
        if role is None or len(files) > 1:
            what = "is no log whose hash correctness.convergence names"
            mend = f"name one of: {', '.join(f'{role} {sha256}' for sha256, role in roles.items()) or 'none is named'}"
            raise UsageError(Problem(place=Place(file=source), rule="bundle-curve", what=what, mend=mend))
        found[role] = copy
    return found


def _put(made: Path, output: Path) -> None:
    try:
        part = output.with_name(f".{output.name}.part")
        shutil.copyfile(made, part)
        part.replace(output)
    except OSError as error:
        what, mend = f"cannot be written: {error.strerror or error}", "name a file in a folder that you may write to"
        raise OutsideError(Problem(place=Place(file=str(output)), rule="bundle-file", what=what, mend=mend)) from None


@dataclass(kw_only=True)
class _Packer:
    """Copies files into the stage, looks at each line, and keeps hashes of what was and what is."""

    redactor: Redactor
    redact: bool
    stage: Path = Path()
    _files: list[BundledFile] = field(default_factory=list)
    _private: dict[tuple[str, str], Problem] = field(default_factory=dict)

    def member_name(self, file: RunFile) -> str:
        """The file's name in the bundle: a telemetry file is called after its host."""
        folder, _, name = file.name.rpartition("/")
        if folder != TELEMETRY:
            return file.name
        host = name.removesuffix(".jsonl")
        scanned = Scanner(self.redactor.words).in_line(f'"host": "{host}"')
        if scanned and self.redact:
            return f"{folder}/{self.redactor.stand_in('host', host)}.jsonl"
        for found in scanned:
            self._complain(str(file.path), None, found)
        return file.name

    def add(self, name: str, file: RunFile) -> None:
        """One file, copied or redacted."""
        if not is_name(name):
            what, mend = f"{name} is no name for a file in a bundle", "rename it: letters, digits and ._+- only"
            raise UsageError(Problem(place=Place(file=str(file.path)), rule="bundle-path", what=what, mend=mend))
        target = self.stage / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with file.path.open("rb") as source, target.open("wb") as copy:
            if self.redact:
                for line in self.redactor.redacted(text_lines(source)):
                    copy.write(line.encode("utf-8", "surrogateescape"))
            else:
                self._scan(str(file.path), source, copy)
        self._files.append(
            BundledFile(
                path=name,
                sha256=sha256_of(target),
                size_bytes=target.stat().st_size,
                original_sha256=sha256_of(file.path),
            )
        )

    def _scan(self, name: str, source: BinaryIO, copy: BinaryIO) -> None:
        scanner = Scanner(self.redactor.words)
        for number, (line, values) in enumerate(scanner.in_lines(text_lines(source)), 1):
            copy.write(line.encode("utf-8", "surrogateescape"))
            for found in values:
                self._complain(name, number, found)

    def _complain(self, file: str, line: int | None, found: PrivateValue) -> None:
        """One problem a value: where it stands first."""
        self._private.setdefault(
            (found.kind, found.value),
            Problem(
                place=Place(file=file, line=line),
                rule=f"private-{found.kind}",
                what=f"holds {WORDS[found.kind]}: {found.shown}",
                mend="bundle with --redact, which replaces it and keeps the hash of the original",
            ),
        )

    def refuse(self) -> None:
        """Raises ProblemsError where something private was found and is not to be replaced."""
        found = list(self._private.values())
        if len(found) > _NAMED:
            what = f"and {len(found) - _NAMED} more private values"
            found = [*found[:_NAMED], Problem(place=Place(), rule="private-more", what=what, mend="use --redact")]
        if found:
            raise ProblemsError(*found)

    def contents(self, runs: int) -> Contents:
        """What bundle.json says."""
        return Contents(
            schema_version=1,
            harness_version=__version__,
            runs=runs,
            redacted=any(file.is_redacted for file in self._files),
            files=tuple(sorted(self._files, key=lambda file: file.path)),
        )

    def members(self, contents: Contents) -> dict[str, Path]:
        """Name and place of every member, bundle.json first."""
        (self.stage / CONTENTS).write_text(json_text(contents), encoding="utf-8")
        return {CONTENTS: self.stage / CONTENTS, **{file.path: self.stage / file.path for file in contents.files}}
