"""The page that sets two recipes of a board side by side: the verdict of `compare`, both figures, what differs."""

import shlex
from collections.abc import Mapping
from itertools import groupby

from openrecipes.compare.comparison import Comparison, compare
from openrecipes.compare.side import published_side
from openrecipes.site import recipe_figures
from openrecipes.site.ranking import Entry
from openrecipes.site.shelf import Pair, Shelf
from openrecipes.site.templates import page


def comparison(pair: Pair, entries: Mapping[str, Entry]) -> Comparison:
    """Two recipes compared; the better is the base."""
    base, candidate = entries[pair.better.recipe], entries[pair.other.recipe]
    return compare(published_side(base.recipe, base.name), published_side(candidate.recipe, candidate.name))


def diff_page(shelf: Shelf, pair: Pair, entries: Mapping[str, Entry], found: Comparison) -> str:
    """The page of two recipes and their comparison."""
    base, candidate = entries[pair.better.recipe], entries[pair.other.recipe]
    known = [one for one in found.differences if one.status in ("different", "tolerated")]
    figures = [
        [show(entry.recipe) for entry in (base, candidate)]
        for show in (
            recipe_figures.throughput,
            recipe_figures.price,
            recipe_figures.mfu,
            recipe_figures.spread,
            recipe_figures.measured,
        )
    ]
    return page(
        "diff.html.j2",
        pair.address,
        json=pair.address.removesuffix(".html") + ".json",
        model=base.recipe.model,
        gpu=base.recipe.gpu.type,
        board_address=shelf.board_addresses[base.recipe.model, base.recipe.gpu.type],
        rows=(pair.better, pair.other),
        addresses=shelf,
        verdict=_verdict(found),
        figures=figures,
        layouts=(base.recipe.layout, candidate.recipe.layout),
        kinds=[(kind, list(group)) for kind, group in groupby(known, key=lambda one: one.kind)],
        notes=found.notes,
        command=f"openrecipes compare {shlex.quote(base.name)} {shlex.quote(candidate.name)}",
    )


def _verdict(found: Comparison) -> str:
    if found.ratio is None or found.interval is None:
        return f"Not comparable: {'; '.join(found.why_not)}."
    low, high = found.interval
    rate = f"{found.ratio:.4f} times the tokens/s per GPU of #{{base}} (95 % interval {low:.4f} to {high:.4f})"
    words = {"reproduced": "no difference beyond the spread", "slower": "slower", "faster": "faster"}[found.verdict]
    return f"{words}: {rate}"
