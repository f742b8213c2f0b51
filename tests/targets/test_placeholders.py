"""What is left of an example in a profile: told by a look, refused where something would be started."""

from pathlib import Path

import pytest
from called import openrecipes

from openrecipes.shipped import shipped

RECIPE = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
SHIPPED = sorted(Path(str(shipped("launch", "clusters"))).glob("*.yaml"))
ZEROS, REAL = "0" * 64, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
KEYS = {"slurm-p5en": "container.image_sha256", "ssh-p5en": "container.image", "eks-p5en": "kubernetes.image"}


def profile(name: str, folder: Path, digest: str) -> str:
    (path,) = (path for path in SHIPPED if path.stem == name)
    copy = folder / f"{name}.yaml"
    copy.write_text(path.read_text().replace(ZEROS, digest))
    return str(copy)


@pytest.mark.parametrize("name", KEYS)
def test_a_check_warns_of_a_hash_that_no_image_has(name: str, tmp_path: Path) -> None:
    file = profile(name, tmp_path, ZEROS)
    done = openrecipes("check", file)
    assert done.returncode == 0
    assert f":{KEYS[name]}: warning: the digit 0, 64 times, is a placeholder" in done.stdout
    assert openrecipes("check", "--strict", file).returncode == 1


@pytest.mark.parametrize("name", KEYS)
def test_a_real_hash_is_none(name: str, tmp_path: Path) -> None:
    done = openrecipes("check", "--strict", profile(name, tmp_path, REAL))
    assert (done.returncode, "placeholder" in done.stdout) == (0, False)


@pytest.mark.parametrize("name", KEYS)
def test_a_dry_run_warns_and_a_launch_is_refused_before_anything_is_made(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "x")
    words = ["launch", RECIPE, "--cluster", profile(name, tmp_path, ZEROS), "--yes"]
    dry = openrecipes(*words, "--dry-run", folder=tmp_path)
    assert dry.returncode == 0
    assert f"{KEYS[name]}: warning: the digit 0, 64 times" in dry.stderr
    done = openrecipes(*words, folder=tmp_path)
    assert done.returncode == 1
    assert f"{KEYS[name]}: the digit 0, 64 times" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.yaml"]


@pytest.mark.parametrize("words", [("checkpoint", "prepare", RECIPE), ("preflight",)])
def test_nothing_else_is_started_with_one_either(words: tuple[str, ...], tmp_path: Path) -> None:
    done = openrecipes(*words, "--cluster", profile("slurm-p5en", tmp_path, ZEROS), folder=tmp_path)
    assert done.returncode == 1
    assert "[profile-placeholder]" in done.stderr
