"""Rules over the file's own name: `recipes/<model>/<gpu>/<author>-<layout>.yaml`, and the header that repeats it."""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from openrecipes.check.rule import Finding, Section, rule
from openrecipes.check.subject import Subject

_HEADER: Final = re.compile(r"# (recipes/\S+\.yaml)")
_DEGREE: Final = re.compile(r"(tp|pp|vpp|cp|ep|etp|dp)([0-9]{1,7})")


def _library_path(subject: Subject) -> PurePath | None:
    """`recipes/<model>/<gpu>/<name>.yaml` as the file's path ends, or None where it lies elsewhere."""
    parts = PurePath(subject.located.file).parts
    return PurePath(*parts[-4:]) if len(parts) >= 4 and parts[-4] == "recipes" else None


@rule("path-header", Section.PLACES, "the first line names the file's own path.", "warning")
def header(subject: Subject) -> Iterator[Finding]:
    """The header of the file that this one was copied from."""
    path = _library_path(subject)
    first_line = subject.located.text.partition("\n")[0].rstrip()
    match = _HEADER.fullmatch(first_line)
    if path is None or (match and match[1] == path.as_posix()):
        return
    yield Finding(
        key="",
        what=f"the first line names {match[1]}" if match else "the first line does not name the file",
        mend=f"write `# {path.as_posix()}` as the first line",
        line=1,
    )


@rule("path-model", Section.PLACES, "the first folder is the model's name in lower case.")
def model(subject: Subject) -> Iterator[Finding]:
    """A recipe that lies with another model's."""
    path, wanted = _library_path(subject), subject.recipe.model.lower()
    if path is not None and path.parts[1] != wanted:
        yield Finding(
            key="model",
            what=f"{subject.recipe.model}, but the file's folder is {path.parts[1]}",
            mend=f"put it in {path.parts[0]}/{wanted}/, or change model",
        )


@rule("path-gpu", Section.PLACES, "the second folder is the GPU's name in lower case.")
def gpu(subject: Subject) -> Iterator[Finding]:
    """A recipe that lies with another GPU's."""
    path, wanted = _library_path(subject), subject.recipe.gpu.type.lower()
    if path is not None and path.parts[2] != wanted:
        yield Finding(
            key="gpu.type",
            what=f"{subject.recipe.gpu.type}, but the file's folder is {path.parts[2]}",
            mend=f"put it in {'/'.join(path.parts[:2])}/{wanted}/, or change gpu.type",
        )


@rule("path-author", Section.PLACES, "the file's name starts with the author, or with the status smoke or draft.")
def author(subject: Subject) -> Iterator[Finding]:
    """A file under another author's name."""
    path, status = _library_path(subject), subject.recipe.status
    slug = re.sub(r"[^a-z0-9]+", "-", subject.recipe.author.name.lower()).strip("-")
    starts = [slug, *([status] if status in ("smoke", "draft") else [])]
    if (
        path is not None
        and slug
        and not any(path.stem == start or path.stem.startswith(f"{start}-") for start in starts)
    ):
        yield Finding(
            key="author.name",
            what=f"{subject.recipe.author.name}, but the file is called {path.name}",
            mend=f"name the file {slug}-….yaml, or change author.name",
        )


@rule("path-layout", Section.PLACES, "degrees in the file's name are those of the fields.")
def layout(subject: Subject) -> Iterator[Finding]:
    """A file named after another layout."""
    path = _library_path(subject)
    for word in path.stem.split("-") if path else ():
        match = _DEGREE.fullmatch(word)
        if not match or subject.is_unread(f"layout.{match[1]}"):
            continue
        if getattr(subject.recipe.layout, match[1]) != int(match[2]):
            yield Finding(
                key=f"layout.{match[1]}",
                what=f"{getattr(subject.recipe.layout, match[1])}, but the file's name says {word}",
                mend="name the file after the fields, or change the degree",
            )
