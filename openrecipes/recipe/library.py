"""Which recipe files there are below a folder, and what short names they have."""

from collections.abc import Iterable
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

    def find(self, name: str) -> Path:
        """The file that a path or a short name means.

        Raises: UsageError naming the nearest short name if there is neither.
        """
        direct = Path(name)
        if direct.is_file():
            return direct
        candidate = self.root / f"{name}{SUFFIX}"
        if not Path(name).is_absolute() and candidate.is_file():
            return candidate
        if direct.is_dir():
            raise unreadable(name, "is a folder, not a recipe file", "name one recipe file in it")
        known = [self.short_name(path) for path in self.files()]
        guess = nearest(name.removesuffix(SUFFIX), known)
        raise UsageError(
            Problem(
                place=Place(file=name),
                rule="file-readable",
                what="there is no such file, and no recipe of that short name",
                mend=f"write {guess}" if guess else f"name a file, or one of: {', '.join(known) or 'none shipped'}",
            )
        )


def expand(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Recipe files named directly or found below folders, each once, in order of path within a folder.

    Raises: UsageError if a path does not exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update(dict.fromkeys(sorted(path.rglob(f"*{SUFFIX}"))))
        elif path.exists():
            found[path] = None
        else:
            raise unreadable(str(path), "there is no such file or folder")
    return tuple(found)
