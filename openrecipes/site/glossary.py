"""Every term and figure with its formula: the table of docs/terms.md, and the keys of a result from their schema."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from markupsafe import Markup, escape

from openrecipes.recipe.block import Block
from openrecipes.recipe.correctness import Convergence
from openrecipes.recipe.layout import Layout
from openrecipes.recipe.result import Result
from openrecipes.recipe.workload import RowsBuild, Workload
from openrecipes.shipped import shipped
from openrecipes.site.addresses import GLOSSARY, anchor

_ROW: Final = re.compile(r"^\| (?P<term>.+?) \| (?P<meaning>.+) \|$", re.MULTILINE)
_CODE: Final = re.compile(r"`([^`]+)`")
_BLOCKS: Final[tuple[tuple[str, type[Block]], ...]] = (
    ("result", Result),
    ("correctness.convergence", Convergence),
    ("layout", Layout),
    ("workload", Workload),
    ("workload.dataset.build", RowsBuild),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    """A term, the id of its entry, and what it means; both texts may hold `<code>`."""

    id: str
    name: Markup
    meaning: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class Keys:
    """The keys of one block of a recipe."""

    block: str
    terms: tuple[Term, ...]


@lru_cache(maxsize=1)
def terms() -> tuple[Term, ...]:
    """The terms of docs/terms.md, in its order."""
    text = shipped("docs", "terms.md").read_text(encoding="utf-8")
    found = [(row["term"], row["meaning"]) for row in _ROW.finditer(text)]
    return tuple(
        Term(id=anchor(term), name=_with_code(term), meaning=_with_code(meaning))
        for term, meaning in found
        if term not in ("term", "---")
    )


@lru_cache(maxsize=1)
def keys() -> tuple[Keys, ...]:
    """The keys of a recipe that hold figures or decide them, as its schema describes them."""
    return tuple(
        Keys(
            block=block,
            terms=tuple(
                Term(
                    id=anchor(f"{block}.{key}"),
                    name=_with_code(f"`{key}`"),
                    meaning=_with_code(field.description or ""),
                )
                for key, field in form.model_fields.items()
            ),
        )
        for block, form in _BLOCKS
    )


@lru_cache(maxsize=256)
def entry(name: str) -> str | None:
    """The address of a term's entry, or of a key's (`result.window`); None where there is neither."""
    wanted = anchor(name)
    known = {term.id for term in terms()} | {term.id for block in keys() for term in block.terms}
    return f"{GLOSSARY}#{wanted}" if wanted in known else None


def _with_code(text: str) -> Markup:
    """Text of our own with its `code` as elements."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704  (escaped before)
