"""Evidence computed again, for people."""

from collections.abc import Sequence

from openrecipes.cli.columns import columns, hanging
from openrecipes.correctness.recomputed import Compared


def recomputed_page(found: Sequence[Compared], left: Sequence[str], *, ok: bool) -> str:
    """Plain lines: key, whether it is the same, what the recipe states and what came out."""
    rows = [(each.key, "same" if each.same else "DIFFERS", _short(each.stored), _short(each.found)) for each in found]
    head = "what was compared comes out again" if ok else "the evidence was not shown to come out again"
    table = columns([("key", "", "stored", "now"), *rows]) if rows else ("nothing was compared",)
    return "\n".join(
        (
            head,
            "",
            *table,
            *(("", "Not compared:", *(hanging(one, first="  ", rest="    ") for one in left)) if left else ()),
        )
    )


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
