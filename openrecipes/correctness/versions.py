"""A version number in words."""

import re
from typing import Final

_VERSION: Final = re.compile(r"\b(\d{1,4})\.(\d{1,4})")


def version_in(text: str) -> tuple[int, int] | None:
    """Major and minor of the first version in a text, as `2.10.0 (build 3)`; None where there is none."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2])) if found else None
