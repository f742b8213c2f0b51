import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_run_directories import job, made
from made_runs import START_S, TIMES, slime_log
from varied_recipes import published

from openrecipes.compare.causes import differences
from openrecipes.compare.comparison import compare
from openrecipes.compare.side import Side, published_side, run_side
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import recipe_text
from openrecipes.runs.record import RowsUsed

KINDS = ["flags", "environment", "stack", "driver and NCCL", "hardware", "clocks", "slowest rank", "data", "price"]


def _recipe(**changes: object) -> Recipe:
    return published().model_copy(update=changes)


def _run(root: Path, recipe: Recipe, factor: float = 1.0, *, environment: dict | None = None) -> Side:
    """A run directory of the recipe whose steps take `factor` times as long as usual."""
    rows = recipe.workload.dataset.rows_sha256
    used = RowsUsed(path="rows", rows=6400, row_tokens=8192, rows_sha256=rows, parquet_sha256="b" * 64)
    run = made(
        root, of_job=job(), text=slime_log([factor * time for time in TIMES]), rows=used, deviations=(), overrides=()
    )
    run.recipe.write_text(recipe_text(recipe, "recipes/a/b/c.yaml"))
    if environment is not None:
        run.environment.write_text(json.dumps(environment))
    return run_side(str(root))


def test_a_published_recipe_is_comparable_with_itself_and_reproduced() -> None:
    side = published_side(published(), "attune")
    found = compare(side, side)
    assert found.comparable
    assert found.ratio == 1
    assert found.verdict == "reproduced"
    assert found.differences == ()
    assert found.document()["why_not"] is None


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, "reproduced"), (1.001, "reproduced"), (1.1, "slower"), (0.9, "faster")]
)
def test_runs_are_told_apart_only_beyond_their_spread(tmp_path: Path, factor: float, verdict: str) -> None:
    base, other = _run(tmp_path / "a", published()), _run(tmp_path / "b", published(), factor)
    found = compare(base, other)
    assert found.why_not == ()
    assert found.verdict == verdict
    assert found.ratio == pytest.approx(1 / factor)
    assert found.step_time_change == pytest.approx(factor - 1)


def test_a_time_never_changes_by_less_than_minus_100_percent(tmp_path: Path) -> None:
    recipe = _recipe(result=published().result.model_copy(update={"tokens_per_s_per_gpu": 1e-3}))
    found = compare(published_side(recipe, "slow"), _run(tmp_path / "b", published()))
    assert found.step_time_change is not None
    assert found.step_time_change > -1


def test_a_run_of_other_gpus_has_no_step_time_change() -> None:
    other = _recipe(gpu=published().gpu.model_copy(update={"count": 64}))
    found = compare(published_side(published(), "a"), published_side(other, "b"))
    assert found.comparable
    assert found.step_time_change is None


def test_why_not_names_each_field_of_the_key_that_differs() -> None:
    other = _recipe(workload=published().workload.model_copy(update={"global_batch": 256, "precision": "fp8"}))
    found = compare(published_side(published(), "a"), published_side(other, "b"))
    assert not found.comparable
    assert found.verdict == "not comparable"
    assert found.why_not == ("rows a step: 128 and 256", "precision: bf16 and fp8")
    assert found.ratio is None
    assert found.interval is None


def test_a_draft_has_nothing_to_compare() -> None:
    draft = _recipe(result=published().result.model_copy(update={"tokens_per_s_per_gpu": None}))
    found = compare(published_side(draft, "draft"), published_side(published(), "attune"))
    assert found.why_not == ("draft has no figure: it is not measured",)


def test_a_figure_without_spread_is_not_comparable() -> None:
    bare = _recipe(result=published().result.model_copy(update={"step_time_cv_percent": None}))
    found = compare(published_side(bare, "bare"), published_side(published(), "attune"))
    assert found.why_not == ("nothing tells the spread of bare",)
    assert found.verdict == "not comparable"


def test_a_run_that_is_refused_is_not_comparable_and_says_why(tmp_path: Path) -> None:
    good = _run(tmp_path / "a", published())
    run = made(tmp_path / "b", of_job=job(), text=slime_log(TIMES[:9]))
    run.recipe.write_text(recipe_text(published(), "x"))
    found = compare(good, run_side(str(tmp_path / "b")))
    assert found.verdict == "not comparable"
    assert "refused" in found.why_not[0]


def test_a_bare_log_takes_the_recipe_beside_it_and_is_nothing_without(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(slime_log())
    base = published_side(published(), "attune")
    assert compare(base, run_side(str(log), published())).comparable
    alone = compare(base, run_side(str(log)))
    assert "nothing says which recipe train.log ran" in alone.why_not[0]


def test_other_rows_than_the_recipes_make_a_run_not_comparable(tmp_path: Path) -> None:
    good = _run(tmp_path / "a", published())
    run = made(tmp_path / "b", of_job=job(), deviations=())
    run.recipe.write_text(recipe_text(published(), "x"))
    key = run_side(str(run.root)).key
    assert key is not None
    assert good.key is not None
    assert key.rows == "b" * 64 != good.key.rows


def test_figures_on_one_log_say_so(tmp_path: Path) -> None:
    side = _run(tmp_path / "a", published())
    recipe = _recipe(result=published().result.model_copy(update={"log_sha256": side.log_sha256}))
    assert any("same log" in note for note in compare(published_side(recipe, "a"), side).notes)


def _environment(**changes: object) -> dict:
    gpu = {"index": 0, "name": "NVIDIA H200", "memory_mib": 143771, "driver": "570.1", "vbios": "1"}
    gpu |= {"power_limit_w": 700, "max_sm_clock_mhz": 1980}
    document = {
        "schema_version": 1,
        "captured_unix_s": 1.79e9,
        "host": "n1",
        "system": {"name": "Ubuntu", "kernel": "Linux 6.8.0-1", "machine": "x86_64"},
        "cpu": {"name": "Xeon", "count": 96, "available": 96},
        "memory_bytes": 2**41,
        "python": "3.12.3",
        "gpus": [gpu],
        "driver": "570.1",
        "cuda_driver": "12.9",
        "nvlink_count": 56,
        "fabric": [],
        "installed": {},
        "loaded": {"transformer_engine": {"version": "2.10.0", "file": None}},
        "checkouts": {"slime": None, "megatron": None},
        "variables": {"NCCL_NVLS_ENABLE": "1"},
        "errors": {},
    }
    return {**document, **changes}


def test_what_could_explain_a_difference_comes_in_the_order_of_its_kinds(tmp_path: Path) -> None:
    base = _run(tmp_path / "a", published(), environment=_environment())
    slow = _environment(
        driver="580.2",
        variables={"NCCL_NVLS_ENABLE": "0"},
        loaded={"transformer_engine": {"version": "2.11.0", "file": None}},
        gpus=[{**_environment()["gpus"][0], "power_limit_w": 500, "driver": "580.2"}],
        memory_bytes=2**40,
    )
    layout = published().layout.model_copy(update={"max_tokens_per_gpu": 16384, "rows_per_microbatch": 2})
    gpu = published().gpu.model_copy(update={"instance": "AWS p5.48xlarge"})
    other = _run(tmp_path / "b", _recipe(layout=layout, gpu=gpu), 1.1, environment=slow)
    fast = replace(base, slowest=("rank0.log", 15.0, 0.01))
    found = differences(fast, replace(other, slowest=("rank3.log", 17.0, 0.2)))
    kinds = [one.kind for one in found]
    assert kinds == sorted(kinds, key=KINDS.index)
    names = {(one.kind, one.name): (one.base, one.candidate) for one in found}
    assert names["flags", "--max-tokens-per-gpu"] == ("8192", "16384")
    assert names["environment", "NCCL_NVLS_ENABLE"] == ("1", "0")
    assert names["stack", "transformer_engine"] == ("2.10.0", "2.11.0")
    assert names["driver and NCCL", "driver"] == ("570.1", "580.2")
    assert names["hardware", "host memory"] == ("2048 GiB", "1024 GiB")
    assert names["clocks", "power limit"] == ("700 W", "500 W")
    assert names["price", "instance"][1] == "AWS p5.48xlarge"
    assert "rank3.log" in (names["slowest rank", "mean step time"][1] or "")
    assert {"data"} == set(KINDS) - set(kinds)


def test_an_environment_that_does_not_fit_is_a_note_and_no_crash(tmp_path: Path) -> None:
    side = _run(tmp_path / "a", published(), environment={"schema_version": 9})
    assert side.environment is None
    assert any("captured environment" in note for note in side.notes)


def _telemetry(root: Path, clock_in_window: int) -> None:
    """A node whose GPU runs at 1,980 MHz, but in the window at another clock and hot."""
    folder = root / "telemetry"
    folder.mkdir()
    fields = ["index", "sm_clock_mhz", "power_w", "temperature_c", "throttle_reasons"]
    lines = [{"schema_version": 1, "host": "n1", "interval_s": 5.0, "fields": fields, "unix_s": START_S}]
    window = (START_S + 116.5, START_S + 266.7)  # steps 4 to 13 of the log
    for second in range(-60, 300, 5):
        inside = window[0] <= START_S + second <= window[1]
        row = [0, clock_in_window if inside else 1980, 650.0, 88 if inside else 40, 64 if inside else 0]
        lines.append({"unix_s": START_S + second, "gpus": [row]})
    (folder / "n1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"unix_s": 0, "ended": "x"}]))


def test_clocks_are_those_of_the_window(tmp_path: Path) -> None:
    for name, clock in (("fast", 1980), ("hot", 1200)):
        _run(tmp_path / name, published())
        _telemetry(tmp_path / name, clock)
    base, other = (run_side(str(tmp_path / name)) for name in ("fast", "hot"))
    clocks = {one.name: (one.base, one.candidate) for one in differences(base, other) if one.kind == "clocks"}
    assert clocks == {"slowest GPU's mean SM clock": ("1980 MHz", "1200 MHz")}
    alone = differences(published_side(published(), "a"), other)
    clocks = {one.name: (one.base, one.candidate) for one in alone if one.kind == "clocks"}
    assert clocks["slowest GPU's mean SM clock"] == (None, "1200 MHz")
    assert clocks["hottest GPU"] == (None, "88 °C")
    assert clocks["throttled GPUs"][1] == "1, up to 100.0% of the time"


def test_a_note_on_both_sides_is_told_once(tmp_path: Path) -> None:
    side = _run(tmp_path / "a", published())
    notes = compare(side, side).notes
    assert len(notes) > 1
    assert len(notes) == len(set(notes))
