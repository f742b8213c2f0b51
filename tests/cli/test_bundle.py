import json
import subprocess
import sys
from pathlib import Path

import pytest
from made_bundles import HOST, RECIPES, environment, made_run, members_of, tampered


def _openrecipes(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "openrecipes", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with a host name in it, and the recipe with its result in it."""
    root = tmp_path_factory.mktemp("cli") / "run"
    made_run(root, host=HOST, env=environment(host=HOST))
    return root


def test_a_bundle_is_refused_then_redacted_then_verified(run: Path, tmp_path: Path) -> None:
    claim, file = run / "recipe-with-result.yaml", tmp_path / "b.tar.gz"
    refused = _openrecipes("bundle", claim, run, "-o", file)
    assert refused.returncode == 1
    assert f"holds a host name: {HOST}" in refused.stderr
    assert "--redact" in refused.stderr
    assert not file.exists()
    made = _openrecipes("bundle", claim, run, "-o", file, "--redact", "--json")
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["redacted"] is True
    assert document["replaced"] == {"host": 3}
    found = _openrecipes("verify", file, "--recipe", claim, "--json")
    assert found.returncode == 0, found.stderr
    verdict = json.loads(found.stdout)
    assert (verdict["ok"], verdict["runs"]) == (True, 1)
    assert {"name": "window", "claimed": [4, 13], "derived": [4, 13], "ok": True} in verdict["figures"]
    text = _openrecipes("verify", file)
    assert text.stdout.rstrip().endswith("b.tar.gz: ok")


def test_a_tampered_bundle_exits_with_1_and_names_the_figure(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar.gz"
    made = _openrecipes("bundle", run / "recipe-with-result.yaml", run, "-o", file, "--redact")
    assert made.returncode == 0, made.stderr
    recipe = members_of(file)["recipe.yaml"].replace(
        b"tokens_per_s_per_gpu: 20691.1\n", b"tokens_per_s_per_gpu: 20691.11\n"
    )
    found = _openrecipes("verify", tampered(file, {"recipe.yaml": recipe}), "--json")
    assert found.returncode == 1
    verdict = json.loads(found.stdout)
    assert verdict["ok"] is False
    assert [one["name"] for one in verdict["figures"] if not one["ok"]] == ["tokens_per_s_per_gpu"]
    assert "20691.11, but the runs give 20691.1" in found.stderr
    assert "refused" in _openrecipes("verify", tampered(file, {"recipe.yaml": recipe})).stdout


def test_a_recipe_that_is_not_measured_cannot_be_bundled(run: Path, tmp_path: Path) -> None:
    made = _openrecipes("bundle", RECIPES["tp1"], run, "-o", tmp_path / "b.tar.gz", "--redact")
    assert made.returncode == 1
    assert "layout.tp" in made.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("verify", "no/such/file"), 2),
        (("verify", __file__), 1),
        (("bundle", RECIPES["tp2"], "no/such/run", "-o", "x.tar.gz"), 2),
        (("bundle", "no/such/recipe", "no/such/run", "-o", "x.tar.gz"), 2),
        (("bundle", RECIPES["tp2"]), 2),
    ],
)
def test_what_cannot_be_read_is_said_without_a_traceback(words: tuple[str, ...], status: int) -> None:
    ran = _openrecipes(*words)
    assert ran.returncode == status
    assert "Traceback" not in ran.stderr


def test_a_place_that_cannot_be_written_is_an_outside_failure(run: Path, tmp_path: Path) -> None:
    made = _openrecipes("bundle", run / "recipe-with-result.yaml", run, "-o", tmp_path / "no/dir/b.tar.gz", "--redact")
    assert made.returncode == 3
    assert "cannot be written" in made.stderr
