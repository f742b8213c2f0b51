"""Private values that are left in an unpacked bundle, by whatever way it was made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openrecipes.evidence.contents import Contents
from openrecipes.evidence.patterns import WORDS
from openrecipes.evidence.privacy import Scanner
from openrecipes.evidence.text_lines import text_lines
from openrecipes.problems import Place, Problem

_NAMED: Final = 20


def left_private(root: Path, contents: Contents) -> Iterator[Problem]:
    """One problem for each private value, at most 20, where it stands first."""
    seen: set[tuple[str, str]] = set()
    for file in contents.files:
        scanner = Scanner()
        with (root / file.path).open("rb") as source:
            for number, (_, values) in enumerate(scanner.in_lines(text_lines(source)), 1):
                for found in values:
                    if (found.kind, found.value) in seen:
                        continue
                    seen.add((found.kind, found.value))
                    if len(seen) <= _NAMED:
                        yield Problem(
                            place=Place(file=file.path, line=number),
                            rule=f"private-{found.kind}",
                            what=f"holds {WORDS[found.kind]}: {found.shown}",
                            mend="withdraw the bundle, and make it again with --redact",
                        )
