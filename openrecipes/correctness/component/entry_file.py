"""A report on disk: as YAML the entry in the form that recipes publish, as JSON with everything behind it."""

import json
import os
from pathlib import Path
from typing import NoReturn

from openrecipes.correctness.component.entry import document, entry
from openrecipes.correctness.component.frame import Report
from openrecipes.problems import Place, Problem, UsageError
from openrecipes.recipe.write import block_text, plain

_YAML = (".yaml", ".yml")


def check_entry_file(path: Path) -> None:
    """Nothing, where `write_entry` can be expected to work; asked before a test that takes minutes.

    Raises: UsageError.
    """
    if path.suffix not in (*_YAML, ".json"):
        what = f"a report is written as .yaml or .json, not as {path.suffix or 'a file without a suffix'}"
        _refuse(path, "component-file", what, "use .yaml for the entry of a recipe, .json for every figure")
    folder = path.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        _refuse(path, "file-writable", "cannot be written", "name a file in a folder that you may write to")


def write_entry(report: Report, path: Path) -> None:
    """Writes the report, whole or not at all.

    Raises: UsageError.
    """
    check_entry_file(path)
    if path.suffix in _YAML:
        text = block_text({"component_tests": [plain(entry(report))]})
    else:
        text = json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    beside = path.with_name(f".{path.name}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        _refuse(path, "file-writable", f"cannot be written: {error.strerror}", "name a file that you may write")


def _refuse(path: Path, rule: str, what: str, mend: str) -> NoReturn:
    raise UsageError(Problem(place=Place(file=str(path)), rule=rule, what=what, mend=mend))
