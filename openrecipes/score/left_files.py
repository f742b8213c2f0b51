"""What forbids a figure where what a run left beside its log is not what its record says."""

from collections.abc import Iterator, Sequence

from openrecipes.problems import Problem
from openrecipes.score.scene import Scene


def left_refusals(scene: Scene) -> Iterator[Problem]:
    """Files with other bytes or that came later; those that are gone are only told."""
    changes = scene.run.changes
    how = "the run record has another hash of it"
    if changes.altered:
        yield scene.problem(
            "run-changed", f"{_named(changes.altered)}: {how}", "score the run as it was left, its files untouched"
        )
    if changes.added:
        what = f"{_named(changes.added)}: the run record knows no such file, so it came after the run had ended"
        yield scene.problem("run-changed", what, "take it out, and score the run as it was left")
    if changes.missing:
        what = f"{_named(changes.missing)}: the run left it, and it is gone"
        yield scene.problem("run-files-gone", what, "put it back where it is kept", severity="warning")


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more}"
