"""Where the files lie that the project ships beside its code: recipes, launch scripts, fixtures, schema."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(*parts: str) -> Path:
    """The path of a shipped file or folder: `shipped("launch", "node.sh.j2")`.

    In a wheel these folders travel inside the package; in a checkout they lie at its top level.
    """
    packed = _PACKAGE / "_shipped"
    return (packed if packed.is_dir() else _PACKAGE.parent).joinpath(*parts)
