"""Times `openrecipes plan`: one recipe, and the search of the largest shipped model on 128 and on 1,024 GPUs.

Each figure is CPU time of this process, the best of three after the imports; the search must stay under two seconds.
"""

import sys
import time
from collections.abc import Callable

from openrecipes.plan.layout_plan import plan_recipe
from openrecipes.plan.legal_layouts import Batch
from openrecipes.plan.search import search
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped

LIMIT_S = 2.0
RECIPE = shipped("recipes", "qwen3.5-397b-a17b", "h200", "attune-tp2-pp4-ep32.yaml")


def best(work: Callable[[], object], times: int = 3) -> float:
    """CPU seconds of the fastest of a few runs."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> int:
    recipe = read_recipe(RECIPE).recipe
    print(f"plan of one recipe: {1000 * best(lambda: plan_recipe(recipe)):.1f} ms")
    slow = False
    for model, gpus in (("Qwen3-32B", 128), ("Qwen3.5-397B-A17B", 128), ("Qwen3.5-397B-A17B", 1024)):
        batch = Batch(row_tokens=8192, global_batch=gpus)
        found = search(model, "H200", gpus, batch=batch)
        seconds = best(lambda model=model, gpus=gpus, batch=batch: search(model, "H200", gpus, batch=batch))
        layouts = len(found.ranked) + len(found.excluded)
        print(f"{model} on {gpus} GPUs: {layouts:,} layouts in {seconds:.2f} s, {1e6 * seconds / layouts:.0f} us each")
        slow |= gpus == 128 and seconds > LIMIT_S
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
