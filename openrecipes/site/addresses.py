"""Where each page of the site lies: addresses below its root, made of letters, digits, dots, dashes and underscores.

So no address needs quoting in a link or is too long for a file system, whatever a recipe is called.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

HOME: Final = "index.html"
GLOSSARY: Final = "glossary.html"
CATALOGUE: Final = "catalogue.html"
SUBMIT: Final = "submit.html"
FEED: Final = "feed.xml"
STYLE: Final = "assets/site.css"
SCRIPT: Final = "assets/site.js"
ICON: Final = "assets/icon.svg"

_LONGEST: Final = 80


def slug(text: str) -> str:
    """A part of an address for a text; one that is not its lower case has a hash of the text at its end."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-.")
    if plain == text.lower() and 0 < len(plain) <= _LONGEST:
        return plain
    return f"{plain[:_LONGEST]}-{_hash(text)}".lstrip("-.")


def slugs(names: Iterable[str]) -> Mapping[str, str]:
    """A slug of its own for every name."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names)):
        part = slug(name)
        found[name] = f"{part}-{_hash(name)}" if part in taken else part
        taken.add(found[name])
    return found


def anchor(text: str) -> str:
    """The id of an element that is about a text: a rule, a price, a term."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or f"x-{_hash(text)}"


def relative(here: str, there: str) -> str:
    """The link from the page at one address to another address, which may end in `#anchor`."""
    path, mark, fragment = there.partition("#")
    if path in ("", here) and mark:
        return f"#{fragment}"
    up, own = here.split("/")[:-1], path.split("/")
    shared = 0
    while shared < min(len(up), len(own) - 1) and up[shared] == own[shared]:
        shared += 1
    return "/".join((*(".." for _ in up[shared:]), *own[shared:])) + mark + fragment


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
