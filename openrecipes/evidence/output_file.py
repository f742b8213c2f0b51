"""Where a bundle may be written: a new file, or over an older bundle."""

from pathlib import Path
from typing import Final

from openrecipes.evidence.archive import first_member
from openrecipes.evidence.contents import CONTENTS
from openrecipes.problems import Place, Problem, UsageError

ENDINGS: Final = (".tar.gz", ".tgz")


def refuse_output(path: Path) -> None:
    """Raises UsageError for a name that no bundle should have, and for anything there that is no bundle."""
    if not path.name.endswith(ENDINGS) or path.name in ENDINGS:
        stem = "RUN" if path.name in ("", "..", *ENDINGS) else path.stem
        what, mend = f"a bundle's file ends in {' or '.join(ENDINGS)}", f"write {stem}{ENDINGS[0]}"
    elif path.is_symlink() or (path.exists() and not (path.is_file() and first_member(path) == CONTENTS)):
        what, mend = "is there already, and is no bundle: it would be lost", "name another file, or move this one away"
    else:
        return
    raise UsageError(Problem(place=Place(file=str(path)), rule="bundle-file", what=what, mend=mend))
