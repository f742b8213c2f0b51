"""`openrecipes run … --against …`: the run ends with a verdict."""

import json
from pathlib import Path

import fake_trainer
import pytest
import yaml
from called import Called, openrecipes
from smoke_recipe import write_smoke_recipe

from openrecipes.rows.build import BuildSettings, build
from openrecipes.rows.embedded_tokenizer import EMBEDDED
from openrecipes.rows.named_source import named_source


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a profile of the trainer that plays, rows, and a run `first` of the recipe."""
    folder = tmp_path_factory.mktemp("against")
    profile = {"schema_version": 1, "name": "site", "target": "local", "python": str(fake_trainer.install(folder))}
    (folder / "site.yaml").write_text(yaml.safe_dump(profile))
    settings = BuildSettings(name="test-rows", tokenizer=EMBEDDED, rows=56, row_tokens=64, seed=42)
    build(named_source("data/fixtures/conversations.jsonl"), settings, folder / "rows.parquet")
    done = _run(folder, "first")
    assert done.returncode == 0, done.stderr
    return folder


def _run(folder: Path, name: str, *more: str, env: dict[str, str] | None = None) -> Called:
    recipe = write_smoke_recipe(folder, env={"OMP_NUM_THREADS": "1", **(env or {})})
    given = ["--cluster", "site.yaml", "--sft-data", "rows.parquet", "--run-dir", name]
    return openrecipes("run", recipe, *given, *more, folder=folder)


def test_a_run_as_fast_as_another_ends_with_reproduced_as_its_last_line(place: Path) -> None:
    done = _run(place, "again", "--against", "first")
    assert done.returncode == 0, done.stderr
    last = " ".join(done.stdout[done.stdout.rindex("verdict") :].split())
    assert last.startswith("verdict reproduced: 1.0000 times the tokens/s/GPU of first")


def test_a_slower_run_ends_with_slower_and_names_what_is_different(place: Path) -> None:
    done = _run(place, "slower", "--against", "first", "--json", env={"STEP_S": "0.004"})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["against"]
    assert found["verdict"] == "slower"
    assert found["ratio"] == pytest.approx(0.5)
    assert found["base"]["name"] == "first"
    assert ("environment", "STEP_S") in [(one["kind"], one["name"]) for one in found["differences"]]


def test_a_recipe_without_figure_cannot_be_reproduced_and_the_run_counts_all_the_same(place: Path) -> None:
    done = _run(place, "published", "--against", "published", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["result"]["tokens_per_s_per_gpu"] == pytest.approx(64_000)
    assert document["against"]["verdict"] == "not comparable"
    assert "not measured" in document["against"]["why_not"]


def test_a_run_that_fails_is_not_comparable(place: Path) -> None:
    done = _run(place, "failed", "--against", "first", "--json", env={"STATUS": "3"})
    assert done.returncode == 1
    assert json.loads(done.stdout)["against"]["verdict"] == "not comparable"


def test_what_a_run_is_to_be_held_against_is_read_before_anything_starts(place: Path) -> None:
    (place / "broken").mkdir()
    (place / "broken" / "run.json").write_text("{}")
    (place / "broken" / "train.log").write_text("nothing")
    for name in ("no/such/recipe", "broken"):
        done = _run(place, "never", "--against", name)
        assert done.returncode == 2
        assert not (place / "never").exists()
