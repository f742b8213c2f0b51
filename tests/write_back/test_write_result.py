"""A result goes into its recipe unless the one there is better proven, or the run did other work."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe, Status
from openrecipes.recipe.read import LocatedRecipe, parse_recipe, read_recipe
from openrecipes.recipe.result import Result
from openrecipes.recipe.write import plain
from openrecipes.verdict.strength import evidence
from openrecipes.write_back.write_result import text_with_result, write_block, write_result

SHIPPED = Path(__file__).parent.parent.parent / "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"
HASHED = {"log_sha256": "a" * 64}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(SHIPPED, tmp_path / "recipe.yaml"))


def result(of: LocatedRecipe, **changes: Any) -> Result:
    return of.recipe.result.model_copy(update={"tokens_per_s_per_gpu": 600.0, **HASHED, **changes})


def rules(error: pytest.ExceptionInfo[ProblemsError]) -> set[str]:
    return {problem.rule for problem in error.value.problems}


def test_a_result_with_a_log_replaces_one_without(file: Path) -> None:
    located = read_recipe(file)
    written = write_result(located, result(located))
    assert written.changed
    assert file.read_text() == written.text
    assert read_recipe(file).recipe.result == result(located)
    assert not write_result(read_recipe(file), result(located)).changed


def test_a_result_without_a_log_never_replaces_one_with(file: Path) -> None:
    located = read_recipe(file)
    write_result(located, result(located))
    before = file.read_text()
    with pytest.raises(ProblemsError) as refusal:
        write_result(read_recipe(file), located.recipe.result)
    assert rules(refusal) == {"result-stronger"}
    assert file.read_text() == before
    write_result(read_recipe(file), located.recipe.result, force=True)
    assert read_recipe(file).recipe.result.log_sha256 is None


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        (({**HASHED, "runs": 1}, "draft"), ({"runs": 9}, "verified")),
        (({"runs": 3}, "smoke"), ({"runs": 2}, "verified")),
        (({"runs": 1}, "verified"), ({"runs": 1}, "measured")),
        (({"runs": 1}, "measured"), ({"runs": 1}, "smoke")),
        (({"runs": 1}, "smoke"), ({"runs": 1}, "draft")),
    ],
)
def test_a_log_counts_before_runs_and_runs_before_the_claim(
    stronger: tuple[dict[str, Any], Status], weaker: tuple[dict[str, Any], Status]
) -> None:
    base = read_recipe(SHIPPED).recipe.result

    def of(changes: dict[str, Any], status: Status) -> Any:
        return evidence(base.model_copy(update=changes), status)

    assert of(*stronger) > of(*weaker)
    assert evidence(base.model_copy(update={"tokens_per_s_per_gpu": None}), "verified") is None


def test_a_draft_takes_any_result(file: Path) -> None:
    text = file.read_text().replace("tokens_per_s_per_gpu: 545.32", "tokens_per_s_per_gpu: null")
    file.write_text(text.replace("  runs: 1\n", "  runs: 9\n"))
    located = read_recipe(file)
    assert write_result(located, result(located, log_sha256=None, runs=1)).changed


def launched(of: LocatedRecipe, old: str, new: str) -> Recipe:
    assert old in of.text
    return parse_recipe(of.text.replace(old, new), "launched.yaml").recipe


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("  global_batch: 128\n", "  global_batch: 64\n", "workload.global_batch"),
        ("  row_tokens: 8192\n  rows: SFT", "  row_tokens: 4096\n  rows: SFT", "workload.row_tokens"),
        ("rows_sha256: 7a83", "rows_sha256: 8a83", "workload.dataset.rows_sha256"),
        ("precision: bf16", "precision: fp8", "workload.precision"),
        ("  dp: 16\n", "  dp: 8\n", "layout.dp"),
        ("  count: 128\n", "  count: 64\n", "gpu.count"),
        ("  type: H200\n", "  type: H100\n", "gpu.type"),
        ("model: Qwen3.5-397B-A17B\n", "model: Qwen3.5-35B-A3B\n", "model"),
        ("  steps_per_run: 14\n", "  steps_per_run: 20\n", "result.steps_per_run"),
        ("result:\n  tokens", "arguments:\n  lr: 0.001\nresult:\n  tokens", "arguments.lr"),
    ],
)
def test_a_result_of_other_work_is_not_written(file: Path, old: str, new: str, key: str) -> None:
    located, before = read_recipe(file), file.read_text()
    other = launched(located, old, new)
    with pytest.raises(ProblemsError) as refusal:
        write_result(located, result(located), launched=other)
    assert rules(refusal) == {"result-of-another-workload"}
    assert {problem.place.key for problem in refusal.value.problems} == {key}
    assert file.read_text() == before
    assert write_result(located, result(located), launched=other, force=True).changed


def test_the_recipe_as_launched_may_differ_in_what_is_no_work(file: Path) -> None:
    located = read_recipe(file)
    assert write_result(located, result(located), launched=launched(located, "name: ATTUNE", "name: Others")).changed


def test_stored_gpu_hours_are_never_erased(file: Path) -> None:
    located = read_recipe(file)
    new = result(located, gpu_hours=None, gpu_hours_note="no job start and end")
    for _ in range(2):  # the second write finds the same log, and adds nothing
        write_result(read_recipe(file), new)
        stored = read_recipe(file).recipe.result
        assert stored.gpu_hours == 68.9
        assert stored.gpu_hours_note == "of an earlier run: GPUs x (job start to end), including startup"
    write_result(read_recipe(file), result(located, gpu_hours=12.5, gpu_hours_note="known"))
    assert read_recipe(file).recipe.result.gpu_hours == 12.5


def test_a_bare_log_keeps_what_the_record_of_the_same_log_told(file: Path) -> None:
    known = {"render_sha256": "b" * 64, "weights": "random", "deviations": ("arguments.lr 0.001",)}
    write_result(read_recipe(file), result(read_recipe(file), log_sha256="a" * 64, **known))
    bare = dict.fromkeys(known)
    write_result(read_recipe(file), result(read_recipe(file), log_sha256="a" * 64, **bare))
    stored = read_recipe(file).recipe.result
    assert {name: getattr(stored, name) for name in known} == known
    write_result(read_recipe(file), result(read_recipe(file), log_sha256="c" * 64, **bare), force=True)
    stored = read_recipe(file).recipe.result
    assert [getattr(stored, name) for name in known] == [None, None, None]


def test_a_recipe_changed_after_reading_is_left_alone(file: Path) -> None:
    located = read_recipe(file)
    file.write_text(file.read_text().replace("name: ATTUNE", "name: Others"))
    before = file.read_text()
    with pytest.raises(ProblemsError) as refusal:
        write_result(located, result(located), force=True)
    assert rules(refusal) == {"write-changed-meanwhile"}
    assert file.read_text() == before


def test_other_blocks_are_written_the_same_way(file: Path) -> None:
    located = read_recipe(file)
    stack = {**plain(located.recipe.stack), "nccl": "2.29.1"}
    assert write_block(located, "stack", stack).changed
    after = read_recipe(file).recipe
    assert after.stack.nccl == "2.29.1"
    assert after.result == located.recipe.result


def test_a_text_can_be_had_without_writing(file: Path) -> None:
    located = read_recipe(file)
    assert "tokens_per_s_per_gpu: 600.0" in text_with_result(located, result(located))
    assert file.read_text() == located.text
