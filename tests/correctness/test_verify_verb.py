"""`openrecipes correctness verify`: evidence that comes out again, and evidence that does not."""

import json
import shutil
from pathlib import Path

import called
import pytest
from unproved import unproved_copy

TP2, TP1 = (f"recipes/qwen3.5-moe-small/h200/openrecipes-{name}.yaml" for name in ("tp2-ep2", "tp1-ep2-dp2"))
LOG2, LOG1 = (f"tests/data/runs/qwen3.5-moe-small-tp{tp}.log.gz" for tp in (2, 1))
LOGS = ("--candidate-log", LOG2, "--reference-log", LOG1)


def openrecipes(*words: str) -> called.Called:
    return called.openrecipes("correctness", *words)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = unproved_copy(called.ROOT / TP2, tmp_path_factory.mktemp("recipe") / "recipe.yaml")
    assert openrecipes("configuration", str(recipe), TP1, *LOGS, "--write").returncode == 0
    assert openrecipes("convergence", LOG2, LOG1, "--write", str(recipe)).returncode == 0
    return recipe


@pytest.fixture
def recipe(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(written, tmp_path / "recipe.yaml"))


def test_what_was_written_comes_out_again(recipe: Path) -> None:
    done = openrecipes("verify", str(recipe), *LOGS, "--reference", TP1, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["ok"] is True
    assert {each["same"] for each in document["compared"]} == {True}
    keys = {each["key"] for each in document["compared"]}
    assert {
        "correctness.convergence.reference_log_sha256",
        "correctness.configuration_evidence.candidate_sha256",
    } <= keys
    assert document["not_compared"] == []


def test_evidence_by_the_recipes_alone_comes_out_again_too(recipe: Path) -> None:
    assert openrecipes("configuration", str(recipe), TP1, "--write").returncode == 0
    assert openrecipes("verify", str(recipe), *LOGS, "--reference", TP1).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("correlation: 0.999999", "correlation: 0.99999", "correctness.convergence.correlation"),
        ("final_loss_difference: 6.4e-05", "final_loss_difference: 6.4e-06", "correctness.convergence.final_loss"),
        ("    steps: 14", "    steps: 20", "correctness.convergence.steps"),
        ("    tolerated: []", "    tolerated: [--x]", "correctness.configuration_evidence.tolerated"),
    ],
)
def test_a_typed_figure_does_not(recipe: Path, old: str, new: str, key: str) -> None:
    text = recipe.read_text()
    assert text.count(old) == 1
    recipe.write_text(text.replace(old, new))
    done = openrecipes("verify", str(recipe), *LOGS, "--reference", TP1)
    assert done.returncode == 1
    [line] = [line for line in done.stdout.splitlines() if "DIFFERS" in line]
    assert line.startswith(key)


def test_other_logs_are_told_by_their_hashes(recipe: Path) -> None:
    done = openrecipes("verify", str(recipe), "--candidate-log", LOG1, "--reference-log", LOG2)
    assert done.returncode == 1
    assert sum("_log_sha256" in line and "DIFFERS" in line for line in done.stdout.splitlines()) == 2
    assert "ran --tensor-model-parallel-size 1" in done.stderr


def test_a_recipe_that_was_changed_since_is_not_the_one_that_ran(recipe: Path) -> None:
    recipe.write_text(recipe.read_text().replace("  dispatcher: alltoall", "  dispatcher: flex"))
    done = openrecipes("verify", str(recipe), *LOGS, "--reference", TP1)
    assert done.returncode == 1
    assert "ran --moe-token-dispatcher-type alltoall" in done.stderr


def test_what_is_left_out_is_named(recipe: Path) -> None:
    done = openrecipes("verify", str(recipe))
    assert done.returncode == 1
    assert "nothing was compared" in done.stdout
    assert "convergence: name both logs" in done.stdout
    assert "configuration: name the reference's recipe" in done.stdout
    published = openrecipes("verify", "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32")
    assert "component test: openrecipes correctness component NAME" in published.stdout


def test_a_recipe_without_evidence_has_none_to_verify() -> None:
    done = openrecipes("verify", TP1)
    assert done.returncode == 2
    assert "correctness-none" in done.stderr
