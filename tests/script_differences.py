"""What differs between the files of two launches."""

import difflib
from collections.abc import Mapping


def differences(base: Mapping[str, str], found: Mapping[str, str]) -> str:
    """Each file's differing lines under its name, as a unified diff without context; equal ones say nothing."""
    assert found.keys() == base.keys()
    parts = [
        line
        for path in found
        for line in difflib.unified_diff(
            base[path].splitlines(), found[path].splitlines(), path, path, n=0, lineterm=""
        )
    ]
    return "\n".join(parts) + "\n"
