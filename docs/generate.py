"""Writes the pages, the schemas and the digests of data files that the code gives; `make docs` runs it.

A test compares each file with its text, so that none can lag.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from openrecipes.catalog.data_files import file_digests
from openrecipes.catalog.models import model_digests
from openrecipes.check.rules_page import rules_page
from openrecipes.cli.verbs_page import verbs_page
from openrecipes.correctness.classes_page import classes_page
from openrecipes.diagnosis.table_page import table_page
from openrecipes.plan.formulas_page import with_formulas
from openrecipes.recipe.schema import schema_text
from openrecipes.targets.profile_schema import schema_text as profile_schema_text

ROOT: Final = Path(__file__).resolve().parent.parent


def plan_page() -> str:
    """The page of `plan`, its prose as it stands, its tables of formulas made anew."""
    return with_formulas((ROOT / "docs" / "plan.md").read_text(encoding="utf-8"))


GENERATED: Final[Mapping[str, Callable[[], str]]] = {
    "schema/recipe.schema.yaml": schema_text,
    "schema/cluster.schema.yaml": profile_schema_text,
    "docs/rules.md": rules_page,
    "docs/verbs.md": verbs_page,
    "docs/diagnosis.md": table_page,
    "docs/argument-classes.md": classes_page,
    "docs/plan.md": plan_page,
    **{
        str(path.relative_to(ROOT)): lambda text=text: text
        for path, text in {**file_digests(), **model_digests()}.items()
    },
}


def main() -> None:
    """Writes every generated file that differs, and names it."""
    for name, text in GENERATED.items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text(), encoding="utf-8")
            print(name)


if __name__ == "__main__":
    main()
