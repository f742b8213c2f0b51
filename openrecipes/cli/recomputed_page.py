"""Evidence computed again, for people."""

from collections.abc import Sequence

from openrecipes.cli.columns import explained, hanging
from openrecipes.correctness.recomputed import Compared


def recomputed_page(found: Sequence[Compared], left: Sequence[str], *, ok: bool) -> str:
    """Plain lines of 80 columns: each key, whether it is the same, what the recipe states and what came out."""
    rows = [(each.key, "same" if each.same else "DIFFERS") for each in found]
    head = "what was compared comes out again" if ok else "the evidence was not shown to come out again"
    table = explained([("key", ""), *rows], map(_values, found)) if rows else ("nothing was compared",)
    return "\n".join(
        (
            head,
            "",
            *table,
            *(("", "Not compared:", *(hanging(one, first="  ", rest="    ") for one in left)) if left else ()),
        )
    )


def _values(each: Compared) -> str:
    return _short(each.stored) if each.same else f"stored {_short(each.stored)}, now {_short(each.found)}"


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
