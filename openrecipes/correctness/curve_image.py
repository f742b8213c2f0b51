"""The picture of two loss curves as a file: SVG by ourselves, PNG by matplotlib (the extra `plot`)."""

import os
from pathlib import Path
from typing import Any, Final, NoReturn

from openrecipes.correctness.convergence import Convergence
from openrecipes.correctness.curve_drawing import (
    CANDIDATE_COLOUR,
    REFERENCE_COLOUR,
    Values,
    series,
    subtitle,
    svg,
    title,
)
from openrecipes.problems import OutsideError, Place, Problem, UsageError

_SUFFIXES: Final = (".svg", ".png")


def check_image_file(path: Path) -> None:
    """Nothing, where `write_image` can be expected to work; asked before logs of gigabytes are read.

    Raises: UsageError for another kind of file or a folder that may not be written; OutsideError where a PNG is asked
    for and matplotlib is missing.
    """
    if path.suffix.lower() not in _SUFFIXES:
        named = f"not as {path.suffix}" if path.suffix else "by the name's ending, and this has none"
        _refuse(path, f"a plot is written as .svg or .png, {named}", "name a file that ends in .svg or .png")
    folder = path.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        _refuse(path, "cannot be written", "name a file in a folder that you may write to")
    if path.suffix.lower() == ".png":
        _matplotlib(path)


def write_image(found: Convergence, path: Path) -> None:
    """Writes the picture, whole or not at all. Raises: as check_image_file."""
    check_image_file(path)
    beside = path.with_name(f".{path.name}.tmp")
    try:
        if path.suffix.lower() == ".svg":
            beside.write_text(svg(found), encoding="utf-8")
        else:
            _png(found, path, beside)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        _refuse(path, f"cannot be written: {error.strerror}", "name a file that you may write")


def _png(found: Convergence, path: Path, beside: Path) -> None:
    figure = _matplotlib(path)(figsize=(9.5, 6.5), dpi=120, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(5, 2))
    candidate, reference, difference = series(found)
    steps = found.reference.steps
    upper.plot(steps, _gaps(reference), "--o", color=REFERENCE_COLOUR, markersize=3, label=found.reference.name)
    upper.plot(steps, _gaps(candidate), "-o", color=CANDIDATE_COLOUR, markersize=3, label=found.candidate.name)
    upper.set_ylabel("loss")
    upper.legend()
    upper.set_title(f"{title(found)}\n{subtitle(found)}", fontsize=10, loc="left")
    lower.axhline(0, color="#999999", linewidth=1)
    lower.plot(steps, _gaps(difference), "-o", color="#333333", markersize=3)
    lower.set_ylabel("difference, %")
    lower.set_xlabel("optimizer step")
    figure.savefig(beside, format="png")


def _gaps(values: Values) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _matplotlib(path: Path) -> Any:
    """The class Figure of matplotlib: no window, no global state."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (an optional extra, slow to import)
    except ImportError:
        raise OutsideError(
            Problem(
                place=Place(file=str(path)),
                rule="plot-matplotlib",
                what="a PNG is drawn by matplotlib, which is not installed here",
                mend="pip install 'openrecipes[plot]', or name a file that ends in .svg",
            )
        ) from None
    return Figure


def _refuse(path: Path, what: str, mend: str) -> NoReturn:
    raise UsageError(Problem(place=Place(file=str(path)), rule="plot-file", what=what, mend=mend))
