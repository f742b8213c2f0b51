import json
import tarfile
from pathlib import Path

import pytest
from called import Called, openrecipes
from made_bundles import HOST, RECIPES, environment, made_run, members_of, tampered


def called(*words: str | Path) -> Called:
    return openrecipes(*map(str, words))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with a host name in it, and the recipe with its result in it."""
    root = tmp_path_factory.mktemp("cli") / "run"
    made_run(root, host=HOST, env=environment(host=HOST))
    return root


def test_a_bundle_is_refused_then_redacted_then_verified(run: Path, tmp_path: Path) -> None:
    claim, file = run / "recipe-with-result.yaml", tmp_path / "b.tar.gz"
    refused = called("bundle", claim, run, "-o", file)
    assert refused.returncode == 1
    assert f"holds a host name: {HOST}" in refused.stderr
    assert "--redact" in refused.stderr
    assert not file.exists()
    made = called("bundle", claim, run, "-o", file, "--redact", "--json")
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["redacted"] is True
    assert document["replaced"] == {"host": 3}
    found = called("verify", file, "--recipe", claim, "--json")
    assert found.returncode == 0, found.stderr
    verdict = json.loads(found.stdout)
    assert (verdict["ok"], verdict["runs"]) == (True, 1)
    redacted = {one["path"]: (one["sha256"], one["original_sha256"]) for one in verdict["redacted_files"]}
    assert set(redacted) == {"run-1/environment.json", "run-1/job.json", "run-1/run.json"}
    assert all(one != other for one, other in redacted.values())
    assert {"name": "window", "claimed": [4, 13], "derived": [4, 13], "ok": True} in verdict["figures"]
    text = called("verify", file)
    assert text.stdout.rstrip().endswith("b.tar.gz: ok")
    lines = {line.split()[0]: line for line in text.stdout.splitlines() if line.strip()}
    assert lines["window"].split() == ["window", "4,", "13", "the", "same"]
    assert not set("()[]") & set(lines["confidence_interval"])


def test_a_tampered_bundle_exits_with_1_and_names_the_figure(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar.gz"
    made = called("bundle", run / "recipe-with-result.yaml", run, "-o", file, "--redact")
    assert made.returncode == 0, made.stderr
    recipe = members_of(file)["recipe.yaml"].replace(
        b"tokens_per_s_per_gpu: 20691.1\n", b"tokens_per_s_per_gpu: 20691.11\n"
    )
    found = called("verify", tampered(file, {"recipe.yaml": recipe}), "--json")
    assert found.returncode == 1
    verdict = json.loads(found.stdout)
    assert verdict["ok"] is False
    assert [one["name"] for one in verdict["figures"] if not one["ok"]] == ["tokens_per_s_per_gpu"]
    assert "20691.11, but the runs give 20691.1" in found.stderr
    assert "refused" in called("verify", tampered(file, {"recipe.yaml": recipe})).stdout


def test_a_recipe_that_is_not_measured_cannot_be_bundled(run: Path, tmp_path: Path) -> None:
    made = called("bundle", RECIPES["tp1"], run, "-o", tmp_path / "b.tar.gz", "--redact")
    assert made.returncode == 1
    assert "layout.tp" in made.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("verify", "no/such/file"), 2),
        (("verify", __file__), 1),
        (("verify", "/dev/null"), 2),
        (("verify", "/tmp"), 2),
        (("bundle", RECIPES["tp2"], "no/such/run", "-o", "x.tar.gz"), 2),
        (("bundle", "no/such/recipe", "no/such/run", "-o", "x.tar.gz"), 2),
        (("bundle", RECIPES["tp2"]), 2),
    ],
)
def test_what_cannot_be_read_is_said_without_a_traceback(words: tuple[str, ...], status: int) -> None:
    ran = called(*words)
    assert ran.returncode == status
    assert "Traceback" not in ran.stderr


def test_a_place_that_cannot_be_written_is_an_outside_failure(run: Path, tmp_path: Path) -> None:
    made = called("bundle", run / "recipe-with-result.yaml", run, "-o", tmp_path / "no/dir/b.tar.gz", "--redact")
    assert made.returncode == 3
    assert "cannot be written" in made.stderr


@pytest.mark.parametrize("name", ["keep.txt", "made.zip", "made", ".tar.gz", "."])
def test_a_bundle_has_the_ending_of_one(run: Path, tmp_path: Path, name: str) -> None:
    made = called("bundle", run / "recipe-with-result.yaml", run, "-o", tmp_path / name, "--redact")
    assert made.returncode == 2
    assert "ends in .tar.gz or .tgz" in made.stderr
    assert not list(tmp_path.iterdir())


def test_an_older_bundle_is_replaced_and_nothing_else(run: Path, tmp_path: Path) -> None:
    claim, file = run / "recipe-with-result.yaml", tmp_path / "b.tar.gz"
    with tarfile.open(file, "w:gz") as foreign:
        foreign.add(claim, "recipe.yaml")
    for content in (file.read_bytes(), b"a log that somebody wants", b""):
        file.write_bytes(content)
        refused = called("bundle", claim, run, "-o", file, "--redact")
        assert (refused.returncode, file.read_bytes()) == (2, content)
        assert "is there already, and is no bundle" in refused.stderr
    file.unlink()
    first = called("bundle", claim, run, "-o", file, "--redact")
    second = called("bundle", claim, run, "-o", file, "--redact")
    assert (first.returncode, second.returncode) == (0, 0), second.stderr


def test_the_recipe_of_a_bundle_may_have_a_short_name_and_must_be_there(run: Path, tmp_path: Path) -> None:
    claim, file = run / "recipe-with-result.yaml", tmp_path / "b.tar.gz"
    assert called("bundle", claim, run, "-o", file, "--redact").returncode == 0
    other = called("verify", file, "--recipe", "qwen3-32b/h200/openrecipes-tp2-pp4")
    assert other.returncode == 1
    assert "openrecipes-tp2-pp4.yaml: is not the recipe of" in other.stderr
    for missing in ("no/such/recipe", "nosuch.yaml", "recipes"):
        found = called("verify", tmp_path / "none.tar.gz", "--recipe", missing)
        assert found.returncode == 2
        assert found.stderr.count("[file-readable]") == 2
