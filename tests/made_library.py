"""Libraries of many recipes for tests and benchmarks: one board, some dozens of layouts, no two figures alike."""

from itertools import product
from pathlib import Path

from varied_recipes import changed, published

from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import plain, recipe_text
from openrecipes.render.overrides import overridden

FOLDER = "qwen3.5-397b-a17b/h200"


def made_library(root: Path, count: int) -> Path:
    """`count` ranked recipes of one board below `root/recipes`; the folder of the library."""
    library = root / "recipes"
    (library / FOLDER).mkdir(parents=True)
    layouts = _layouts(count)
    for number in range(count):
        recipe = layouts[number % len(layouts)]
        degrees = recipe.layout.label.lower().replace(" ", "-")
        path = f"{FOLDER}/author{number:04d}-{degrees}.yaml"
        rate = round(600 - 0.37 * number, 2)
        result = plain(published())["result"] | {
            "tokens_per_s_per_gpu": rate,
            "usd_per_million_tokens": round(63.296 / 8 / 3600 / rate * 1e6, 2),
            "mfu": round(6 * 16331407360 * rate / 989e12, 4),
        }
        author = {"name": f"Author {number:04d}", "url": None}
        recipe = changed(recipe, {"status": "measured", "author": author, "result": result})
        (library / path).write_text(recipe_text(recipe, f"recipes/{path}"))
    return library


def _layouts(most: int) -> list[Recipe]:
    """The published recipe in legal layouts, at most so many."""
    base = published()
    found = [base]
    for tp, pp, ep, recompute in product((1, 2, 4), (2, 4), (16, 32, 64), (True, False)):
        wanted = {"tp": tp, "pp": pp, "ep": ep} | ({} if recompute else {"recompute": None})
        settings = [
            f"layout.{key}={'null' if value is None else value}"
            for key, value in wanted.items()
            if getattr(base.layout, key) != value
        ]
        if settings and len(found) < most:
            found.append(overridden(base, settings).recipe)
    return found
