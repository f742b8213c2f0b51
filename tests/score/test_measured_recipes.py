"""The recipes that we measured ourselves: their figures come out of their logs, to the digit."""

import gzip
import hashlib
from pathlib import Path

import pytest

from openrecipes.recipe.read import read_recipe
from openrecipes.render.overrides import overridden
from openrecipes.score.expected import expected_of
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score

ROOT = Path(__file__).parent.parent.parent
RUNS = ROOT / "tests/data/runs"
SMALL = {
    "qwen3.5-moe-small/h200/openrecipes-tp2-ep2": RUNS / "qwen3.5-moe-small-tp2.log.gz",
    "qwen3.5-moe-small/h200/openrecipes-tp1-ep2-dp2": RUNS / "qwen3.5-moe-small-tp1.log.gz",
}
FOUR_B = {
    f"qwen3.5-4b/h200/openrecipes-{name}": RUNS / f"qwen3.5-4b-{name}.log.gz"
    for name in ("dp2", "dp2-recompute", "tp2", "pp2")
}
LOGS = {**SMALL, **FOUR_B}


@pytest.mark.parametrize("name", LOGS)
def test_a_measured_recipes_figures_are_its_logs(name: str) -> None:
    recipe = read_recipe(ROOT / f"recipes/{name}.yaml").recipe
    stored = recipe.result
    card = score(expected_of(recipe), read_run(str(LOGS[name])), allow_unsteady=True)
    found = card.result()
    assert hashlib.sha256(gzip.decompress(LOGS[name].read_bytes())).hexdigest() == stored.log_sha256
    for key in (
        "tokens_per_s_per_gpu",
        "step_time_cv_percent",
        "mfu",
        "window",
        "window_tokens",
        "steps_read",
        "log_sha256",
    ):
        assert getattr(found, key) == getattr(stored, key), key
    assert stored.weights == "random"


@pytest.mark.parametrize(("logs", "within"), [(SMALL, 1e-5), (FOUR_B, 1e-4)], ids=["moe-small", "4b"])
def test_all_layouts_ate_the_same_rows_and_began_at_the_same_loss(logs: dict[str, Path], within: float) -> None:
    rows, losses = set(), []
    for log in logs.values():
        text = gzip.decompress(log.read_bytes()).decode()
        found = [line.split(" - batch ")[1] for line in text.splitlines() if " - batch " in line]
        assert len(found) >= 14
        rows.add(tuple(found[:14]))  # the steps that all of them took
        losses.append([step.loss for step in read_run(str(log)).steps[:2]])
    assert len(rows) == 1
    # Steps 0 and 1 run on the same weights: layouts differ by rounding alone. Equal they are only where all that
    # differs is what is computed again.
    for step in zip(*losses, strict=True):
        assert max(step) - min(step) < within * min(step)
        assert len(set(step)) >= len(step) - 1


def test_fourteen_steps_of_tp2_were_too_few_to_be_steady() -> None:
    recipe = read_recipe(ROOT / "recipes/qwen3.5-4b/h200/openrecipes-tp2.yaml").recipe
    shorter = overridden(recipe, ["result.steps_per_run=14"]).recipe
    run = read_run(str(RUNS / "qwen3.5-4b-tp2-14-steps.log.gz"))
    assert [problem.rule for problem in score(expected_of(shorter), run).problems] == ["unsteady-trend"]
