"""What tells layouts apart that a board shows with the same label and highlights."""

from collections import defaultdict
from collections.abc import Sequence

from openrecipes.recipe.layout import Layout


def told_apart(layouts: Sequence[Layout]) -> list[str | None]:
    """Of each layout the clauses of its summary that not all of its look-alikes have.

    None where no other looks like it; "" where another has the same summary too.
    """
    alike: dict[tuple[str, str | None], list[tuple[str, ...]]] = defaultdict(list)
    for layout in layouts:
        alike[_looks(layout)].append(_clauses(layout))
    return [_own(_clauses(layout), alike[_looks(layout)]) for layout in layouts]


def _looks(layout: Layout) -> tuple[str, str | None]:
    return layout.label, layout.highlights


def _clauses(layout: Layout) -> tuple[str, ...]:
    return tuple(layout.summary.split("; "))


def _own(clauses: tuple[str, ...], summaries: Sequence[tuple[str, ...]]) -> str | None:
    if len(summaries) == 1:
        return None
    if summaries.count(clauses) > 1:
        return ""
    return ", ".join(clause for clause in clauses if any(clause not in other for other in summaries))
