"""A recipe whose every text tries to be more than text."""

from pathlib import Path

from varied_recipes import changed, published

from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import recipe_text

MARKUP = "<script>window.broken = 1</script><img src=x onerror='window.broken = 2'>\"'&amp;{{ 7 * 7 }}"
TURNED = "safe \u202egnp.exe\u202c end"
LONG = "A-very-long-name" * 31 + "-end!"
EMOJI = "🧑🏽‍🚀 fast 🏳️‍🌈"
assert len(LONG) > 500


def hostile_recipe(model: str = MARKUP) -> Recipe:
    """A published recipe with hostile text wherever there is text."""
    return changed(
        published(),
        {
            "model": model,
            "author.name": LONG,
            "author.url": "javascript:window.broken=3",
            "layout.label": EMOJI,
            "layout.summary": MARKUP + TURNED,
            "layout.highlights": TURNED + EMOJI,
            "stack.framework": MARKUP,
            "stack.network": TURNED,
            "workload.dataset.build.name": MARKUP[:60],
            "result.gpu_hours_note": MARKUP,
            "correctness.summary": MARKUP,
            "correctness.rules": TURNED,
            "env": {"CUDA_DEVICE_MAX_CONNECTIONS": MARKUP, "TURNED": TURNED},
            "patches": (MARKUP, LONG),
            "run": f"</code></pre>{MARKUP}\n{TURNED}\n{LONG}\n",
        },
    )


def write_hostile(library: Path) -> str:
    """Puts the recipe into a library, with a hostile file name; its short name."""
    name = "hostile/h200/a'b&c<d>-tp2"
    path = library / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(recipe_text(hostile_recipe(), f"recipes/{name}.yaml"), encoding="utf-8")
    return name
