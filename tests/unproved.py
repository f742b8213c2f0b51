"""Recipes as they were before anything was shown of their correctness."""

import re
from pathlib import Path


def unproved_text(recipe: Path) -> str:
    """The recipe's text with `correctness: null`, and `measured` at most."""
    text = re.sub(r"(?m)^correctness:\n(?:[ -].*\n)+", "correctness: null\n", recipe.read_text(encoding="utf-8"))
    return re.sub(r"(?m)^status: verified$", "status: measured", text)


def unproved_copy(recipe: Path, to: Path) -> Path:
    """A copy of the recipe's file with `correctness: null`."""
    to.write_text(unproved_text(recipe), encoding="utf-8")
    return to
