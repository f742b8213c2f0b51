"""Which recipe files there are below a folder, and what short names they have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openrecipes.problems import Place, Problem, UsageError, nearest, unreadable

SUFFIX = ".yaml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Library:
    """The recipes below one root folder: `<model>/<gpu>/<author>-<layout>.yaml`."""

    root: Path

    def files(self) -> tuple[Path, ...]:
        """All recipe files, sorted by path."""
        return tuple(sorted(self.root.glob(f"*/*/*{SUFFIX}")))

    def short_name(self, path: Path) -> str:
        """`qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32`, or the path itself if it lies elsewhere."""
        try:
            return path.resolve().relative_to(self.root.resolve()).with_suffix("").as_posix()
        except ValueError:
            return str(path)

    def has(self, name: str) -> bool:
        """Whether there is a recipe of this short name."""
        return not Path(name).is_absolute() and _is(self.root / f"{name}{SUFFIX}", Path.is_file)

    def find(self, name: str, *, beyond: "Library | None" = None) -> Path:
        """The file that a path or a short name means, one here before one of the library `beyond`.

        Raises: UsageError naming the nearest short name if there is none.
        """
        direct, libraries = Path(name), (self, beyond) if beyond else (self,)
        if _is(direct, Path.exists) and not is_folder(direct):
            return direct
        for library in libraries:
            if library.has(name):
                return library.root / f"{name}{SUFFIX}"
        if not name:
            raise unreadable(name, "an empty name names no recipe", "name a recipe file, or its short name")
        if is_folder(direct):
            raise unreadable(name, "is a folder, not a recipe file", "name one recipe file in it")
        known = [*dict.fromkeys(library.short_name(path) for library in libraries for path in library.files())]
        meant = _meant(name.removesuffix(SUFFIX), known)
        listed = ", ".join(known[:6]) + (", …" if len(known) > 6 else "")
        raise UsageError(
            Problem(
                place=Place(file=name),
                rule="file-readable",
                what="there is no such file, and no recipe of that short name",
                mend=f"write {' or '.join(meant)}" if meant else f"name a file, or one of: {listed or 'none shipped'}",
            )
        )


def recipes_below(folder: Path) -> tuple[Path, ...]:
    """Every recipe file below a folder, sorted by path; hidden folders and pipes are left out.

    Raises: UsageError if there is none.
    """
    found = (path for path in folder.rglob(f"*{SUFFIX}") if not (_hidden(path.relative_to(folder)) or path.is_fifo()))
    files = tuple(sorted(found))
    if not files:
        raise unreadable(str(folder), f"holds no recipe: no {SUFFIX} file lies in it", "name a folder with recipes")
    return files


def is_folder(path: Path) -> bool:
    """Whether there is a folder at the path."""
    return _is(path, Path.is_dir)


def _meant(name: str, known: Sequence[str]) -> list[str]:
    """The short names that a name may stand for: it is their end, or close to all of one or to its end."""
    of_end: dict[str, list[str]] = {}
    for one in known:
        of_end.setdefault(one.rpartition("/")[2], []).append(one)
    ending = [one for one in known if one.endswith(f"/{name}")]
    close = nearest(name, known)
    return ending or ([close] if close else of_end.get(nearest(name, of_end) or "", []))


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _is(path: Path, what: Callable[[Path], bool]) -> bool:
    """Whether the path is that; a path that cannot be looked at (too long, a forbidden folder) is not."""
    try:
        return what(path)
    except (OSError, ValueError):
        return False
