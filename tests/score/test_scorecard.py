"""What a scorecard says: in full for JSON, in published digits for the recipe."""

import json
from dataclasses import replace
from math import fsum, isclose
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import EXPECTED, START_S, TIMES, made_run, made_steps
from smoke_recipe import smoke_recipe
from varied_recipes import changed

from openrecipes.catalog.prices import price
from openrecipes.recipe.read import read_recipe
from openrecipes.recipe.result import Result
from openrecipes.runs.record import Job
from openrecipes.score.expected import Expected, expected_by_hand, expected_of
from openrecipes.score.run_evidence import Run
from openrecipes.score.score import score
from openrecipes.score.scorecard import Scorecard

RECIPES = Path(__file__).parent.parent.parent / "recipes" / "qwen3.5-397b-a17b" / "h200"
PUBLISHED = ("attune-tp2-pp4-ep32", "attune-tp1-pp4-ep32", "attune-tp2-pp2-ep64")


def published(name: str) -> Result:
    return read_recipe(RECIPES / f"{name}.yaml").recipe.result


def steady_run(name: str) -> Run:
    """A run whose mean step time is the published one, with the published spread as two kinds of step."""
    result, expected = published(name), expected_of(read_recipe(RECIPES / f"{name}.yaml").recipe)
    assert result.tokens_per_s_per_gpu
    assert result.step_time_cv_percent
    mean = expected.tokens_per_step / result.tokens_per_s_per_gpu / expected.gpus
    first, last = result.window
    n = last - first + 1
    away = mean * result.step_time_cv_percent / 100 * ((n - 1) / (n - n % 2)) ** 0.5
    signs = [0.0] * (n % 2) + [1.0, -1.0] * (n // 2)
    return made_run(made_steps([60.0] + [mean] * (first - 1) + [mean + sign * away for sign in signs]))


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_figures_come_out_to_the_printed_digit(name: str) -> None:
    stated, recipe = published(name), read_recipe(RECIPES / f"{name}.yaml").recipe
    result = score(expected_of(recipe), steady_run(name)).result()
    for key in ("tokens_per_s_per_gpu", "usd_per_million_tokens", "step_time_cv_percent", "mfu"):
        assert getattr(result, key) == getattr(stated, key), key
    for key in ("window", "window_tokens", "steps_per_run", "active_params", "mfu_note", "runs"):
        assert getattr(result, key) == getattr(stated, key), key


def card(**changes: object) -> Scorecard:
    return score(EXPECTED, made_run(**changes))


def test_the_figures_are_those_of_the_formulas() -> None:
    document = card().document()
    times = TIMES[4:]
    assert document["tokens_per_s_per_gpu"] == 10_485_760 / fsum(times) / 128
    assert document["window"] == [4, 13]
    assert document["window_tokens"] == 10_485_760
    assert document["step_time_s"]["max"] == 15.2
    assert document["step_time_s"]["mean"] == pytest.approx(fsum(times) / 10)
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_interval_is_of_the_rate() -> None:
    figures = card().figures
    assert figures is not None
    assert figures.confidence_interval is not None
    low, high = figures.confidence_interval
    assert low < figures.tokens_per_s_per_gpu < high


@given(st.floats(0.01, 100))
def test_slower_steps_divide_the_rate(k: float) -> None:
    slow = score(EXPECTED, made_run([replace(step, timestamp_s=None) for step in made_steps([k * t for t in TIMES])]))
    before = card().figures
    assert slow.figures
    assert before
    assert isclose(k * slow.figures.tokens_per_s_per_gpu, before.tokens_per_s_per_gpu, rel_tol=1e-9)
    assert isclose(slow.figures.step_time_cv_percent, before.step_time_cv_percent, rel_tol=1e-6)


def test_every_key_of_a_result_is_in_the_document() -> None:
    assert set(Result.model_fields) <= set(card().document())


def job(seconds: float, exit_status: int = 0) -> Job:
    return Job(
        schema_version=1, start_unix_s=START_S - 60, end_unix_s=START_S - 60 + seconds, exit_status=exit_status,
        signal=None, host="node", pid=7,
    )  # fmt: skip


def test_gpu_hours_are_those_of_the_job() -> None:
    with_job = card(job=job(900.0))
    assert with_job.gpu_hours == 128 * 900 / 3600
    assert with_job.gpu_hours_note == "GPUs x (job start to end), start-up included"
    assert card().gpu_hours is None
    assert "no job start and end" in card().gpu_hours_note


def test_step_times_longer_than_the_whole_job_are_refused() -> None:
    assert {problem.rule for problem in card(job=job(200.0)).errors} == {"job-clock-contradiction"}


def test_no_gpu_no_price_and_no_model_give_null_with_a_note() -> None:
    document = card().document()
    assert document["mfu"] is None
    assert document["usd_per_million_tokens"] is None
    assert document["mfu_note"] == "no model and GPU were named; no GPU was named"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"gpu_type": "h200"}, "MFU needs a model: give --model"),
        ({"model_name": "qwen3-32b"}, "MFU needs a GPU: give --gpu"),
        ({}, "MFU needs a GPU and a model: give --gpu and --model"),
        ({"gpu_type": "h200", "model_name": "qwen3-32b"}, None),
    ],
)
def test_only_what_is_missing_for_an_mfu_is_asked_for(named: dict[str, str], said: str | None) -> None:
    expected = expected_by_hand(gpus=2, global_batch=8, row_tokens=1024, **named)
    assert expected.no_mfu == said
    assert expected.gpu_type in (None, "H200")
    assert expected.model in (None, "Qwen3-32B")


def h200(**changes: object) -> Expected:
    by_hand = expected_by_hand(
        gpus=128, global_batch=128, row_tokens=8192, gpu_type="H200", model_name="Qwen3.5-397B-A17B"
    )
    return replace(by_hand, **changes)  # type: ignore[arg-type]


def test_more_than_the_peak_is_refused() -> None:
    fast = made_run([replace(step, timestamp_s=None) for step in made_steps([time / 20 for time in TIMES])])
    refused = score(h200(), fast)
    assert {problem.rule for problem in refused.errors} == {"mfu-above-one"}
    assert refused.figures is None
    assert score(h200(), made_run()).figures is not None


def test_another_price_changes_only_the_dollars() -> None:
    cheap = price("aws-on-demand-us-east-1-2026-09/p5.48xlarge")
    one, other = score(h200(), made_run()).figures, score(h200(price=cheap), made_run()).figures
    assert one
    assert other
    assert one.usd_per_million_tokens
    assert other.usd_per_million_tokens
    assert isclose(other.usd_per_million_tokens / one.usd_per_million_tokens, 55.04 / 63.296)
    assert one.mfu == other.mfu


@pytest.mark.parametrize(
    ("gpu", "why"),
    [
        (
            {"type": "H200", "instance": None},
            "no gpu.instance is named, and a price is an instance's; see --price",
        ),
        ({"type": "H200", "instance": "nobody's"}, "no instance price is known for nobody's"),
        ({"type": "CPU", "instance": None}, "no instance price is known for CPU"),
        ({"type": "H200", "instance": "AWS p5en.48xlarge"}, None),
    ],
)
def test_a_missing_price_is_told_from_a_missing_instance(gpu: dict[str, str | None], why: str | None) -> None:
    recipe = read_recipe(RECIPES / f"{PUBLISHED[0]}.yaml").recipe
    made = changed(recipe, {f"gpu.{key}": value for key, value in gpu.items()})
    assert expected_of(made).no_price == why


def test_a_smoke_run_may_be_unsteady_and_has_no_mfu_and_no_price() -> None:
    recipe = smoke_recipe()
    times = [3.0, 1.0, 1.0, 1.0, 1.0, 1.3, 0.8, 1.0, 1.4, 1.0, 0.7, 1.0, 1.1, 1.0]
    steps = [replace(step, tokens=4 * 64, global_batch=4) for step in made_steps(times)]
    result = score(expected_of(recipe), made_run(steps)).result()
    assert result.unsteady is True
    assert result.weights == "random"
    assert result.mfu is None
    assert result.usd_per_million_tokens is None
    assert result.mfu_note is not None
    assert result.tokens_per_s_per_gpu == round(10 * 256 / fsum(times[4:]) / 2, 2)


def test_a_result_is_what_a_recipe_may_hold() -> None:
    scored = score(h200(), made_run(job=job(900.0)))
    result = scored.result()
    assert Result.model_validate(result.model_dump(exclude_unset=True)) == result
    assert "unsteady" not in result.model_fields_set
    assert "render_sha256" not in result.model_fields_set
    assert result.rule == "skip-quarter/1"
    assert result.timer == "step_time"
    assert result.log_sha256 == "a" * 64


def test_a_tiny_figure_is_not_rounded_to_nothing() -> None:
    tiny = expected_by_hand(gpus=2, global_batch=1, row_tokens=64, gpu_type="H200", model_name="Qwen3.5-MoE-mini")
    steps = [replace(step, tokens=64, global_batch=1) for step in made_steps()]
    result = score(tiny, made_run(steps)).result()
    assert result.mfu
    assert 0 < result.mfu < 1e-4
