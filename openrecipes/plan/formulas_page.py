"""The tables of every term's formula and source, as docs/plan.md shows them."""

from typing import Final

from openrecipes.plan.formulas import sections

START: Final = "<!-- formulas: generated from openrecipes/plan/formulas.yaml by `make docs` -->\n"
END: Final = "<!-- end of formulas -->\n"
_TITLES: Final = {
    "static": "Weights, gradients, optimizer",
    "resident": "Resident from the first step on",
    "saved": "Kept for the backward pass",
    "moments": "Alive only at the peak",
}


def formulas_tables() -> str:
    """One table a section, in Markdown."""
    parts = []
    for section, terms in sections().items():
        rows = [f"| {term.name} | {term.formula} | {term.source} |" for term in terms.values()]
        parts.append(
            "\n".join((f"### {_TITLES[section]}", "", "| term | bytes | read in |", "| --- | --- | --- |", *rows))
        )
    return "\n\n".join(parts) + "\n"


def with_formulas(page: str) -> str:
    """The page with its tables made anew between their marks."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{formulas_tables()}\n{END}{after}"
