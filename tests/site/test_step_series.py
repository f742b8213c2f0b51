"""Published steps are those of the recipe's own log, or there are none."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_run_directories import job, made
from varied_recipes import changed, published

from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.recipe.write import recipe_text
from openrecipes.score.run_evidence import Run, read_run
from openrecipes.site.publish_steps import publish_steps
from openrecipes.site.step_pictures import ledger_picture, loss_picture, outline, step_picture
from openrecipes.site.step_series import Step, StepSeries, published_series, series_file

ROOT = Path(__file__).parent.parent.parent
SMALL = ROOT / "recipes/qwen3.5-moe-small/h200"
LOGS = {"openrecipes-tp2-ep2": "tp2", "openrecipes-tp1-ep2-dp2": "tp1"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A made run of 128 GPUs with its job's record."""
    return read_run(str(made(tmp_path / "run", of_job=job()).root))


@pytest.fixture
def located(tmp_path: Path, run: Run) -> LocatedRecipe:
    """The recipe whose result names that run's log."""
    path = tmp_path / "recipe.yaml"
    recipe = changed(published(), {"result.log_sha256": run.log_sha256})
    path.write_text(recipe_text(recipe, "recipe.yaml"))
    return read_recipe(path)


@pytest.mark.parametrize(("name", "log"), LOGS.items())
def test_the_published_steps_are_what_the_log_gives(tmp_path: Path, name: str, log: str) -> None:
    shutil.copy(SMALL / f"{name}.yaml", tmp_path)
    located = read_recipe(tmp_path / f"{name}.yaml")
    written = publish_steps(located, read_run(str(ROOT / f"tests/data/runs/qwen3.5-moe-small-{log}.log.gz")))
    assert written.read_bytes() == series_file(SMALL / f"{name}.yaml").read_bytes()
    series, problems = published_series(SMALL / f"{name}.yaml", located.recipe)
    assert problems == ()
    assert series is not None
    times = {step.step: step.step_time_s or 0 for step in series.steps}
    first, last = located.recipe.result.window
    window = [times[number] for number in range(first, last + 1)]
    assert located.recipe.result.window_tokens is not None
    rate = located.recipe.result.window_tokens / sum(window) / located.recipe.gpu.count
    assert rate == pytest.approx(located.recipe.result.tokens_per_s_per_gpu, abs=0.006)


def test_steps_of_another_log_are_refused(located: LocatedRecipe, run: Run) -> None:
    other = read_recipe(SMALL / "openrecipes-tp2-ep2.yaml")
    with pytest.raises(ProblemsError, match=r"but .* is") as refused:
        publish_steps(other, run)
    assert refused.value.problems[0].place.line == 99
    nameless = LocatedRecipe(recipe=published(), document=located.document, problems=())
    with pytest.raises(ProblemsError, match="names no log"):
        publish_steps(nameless, run)


@pytest.mark.parametrize("change", [{"loss": 1e300}, {"step_time_s": 1e300}])
def test_numbers_that_no_training_has_are_refused(located: LocatedRecipe, run: Run, change: dict[str, float]) -> None:
    steps = (replace(run.steps[0], **change), *run.steps[1:])
    with pytest.raises(ProblemsError, match="beyond what a file of steps holds"):
        publish_steps(located, replace(run, steps=steps))
    assert not series_file(Path(located.file)).exists()


def test_a_ledger_comes_from_the_jobs_record(located: LocatedRecipe, run: Run) -> None:
    publish_steps(located, run, reference=run)
    series, _ = published_series(Path(located.file), located.recipe)
    assert series is not None
    assert series.ledger is not None
    assert sum(phase.gpu_hours for phase in series.ledger) == pytest.approx(128 * 360 / 3600)
    picture = ledger_picture(series)
    assert picture is not None
    assert [row[0] for row in picture.rows][-1] == "teardown"
    curves = loss_picture(series)
    assert curves is not None
    assert curves.header == ("Step", "Loss", "Reference")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"log_sha256": "0" * 64}, "which is not the recipe's log_sha256"),
        ({"steps": []}, "steps is not as a file of steps has it"),
        ({"steps": [{"step": -1, "step_time_s": 1.0, "loss": None}]}, r"steps\.0\.step is not"),
        ({"steps": [{"step": 1, "step_time_s": 0.0, "loss": None}]}, r"steps\.0\.step_time_s is not"),
        ({"unknown": 1}, "unknown is not"),
    ],
)
def test_a_file_that_does_not_fit_is_left_out_with_a_warning(
    located: LocatedRecipe, run: Run, change: dict[str, object], words: str
) -> None:
    path = publish_steps(located, run)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    series, [problem] = published_series(Path(located.file), located.recipe)
    assert series is None
    assert problem.severity == "warning"
    assert re.search(words, problem.what)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 5000, b'{"log_sha256": 1e999}'])
def test_bytes_that_are_no_file_of_steps_are_left_out(located: LocatedRecipe, content: bytes) -> None:
    series_file(Path(located.file)).write_bytes(content)
    series, problems = published_series(Path(located.file), located.recipe)
    assert series is None
    assert len(problems) == 1


def test_a_step_far_above_the_window_is_left_to_the_table() -> None:
    recipe = read_recipe(SMALL / "openrecipes-tp2-ep2.yaml").recipe
    series, _ = published_series(SMALL / "openrecipes-tp2-ep2.yaml", recipe)
    picture = step_picture(series, recipe.result.window)
    assert picture is not None
    assert "Not drawn, since far longer: step 0." in picture.caption
    assert picture.rows[0] == ("0", "2 min 53 s", "no")
    assert sum(row[2] == "yes" for row in picture.rows) == 10


def test_without_published_steps_there_is_no_picture_of_them() -> None:
    assert step_picture(None, (4, 13)) is None
    assert loss_picture(None) is None
    assert ledger_picture(None) is None
    bare = StepSeries(
        log_sha256="0" * 64,
        steps=({"step": 0, "step_time_s": 1.0, "loss": None},),
        ledger=None,
        reference_log_sha256=None,
        reference_steps=None,
    )
    assert step_picture(bare, (0, 0)) is None
    assert loss_picture(bare) is None


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=400), st.integers(2, 50))
def test_an_outline_keeps_the_ends_of_the_range_and_the_order(times: list[float], most: int) -> None:
    points = [(float(step), time) for step, time in enumerate(times)]
    found = outline(points, most)
    assert len(found) <= max(most, 2) or found == points
    assert found == sorted(found)
    assert set(found) <= set(points)
    assert {min(y for _, y in found), max(y for _, y in found)} == {min(times), max(times)}


def test_a_long_run_has_a_small_picture_and_says_what_its_table_leaves_out() -> None:
    steps = tuple(Step(step=number, step_time_s=1.0 + number % 7 / 10, loss=2.0) for number in range(20_000))
    series = StepSeries(log_sha256="0" * 64, steps=steps, ledger=None, reference_log_sha256=None, reference_steps=None)
    picture = step_picture(series, (5000, 19_999))
    assert picture is not None
    assert len(picture.svg) < 30_000
    assert len(picture.rows) == 200
    assert picture.more == "The first 200 of 20,000 steps; the JSON has all."
