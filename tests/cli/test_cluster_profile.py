"""`--cluster` by a file or by a shipped profile's name, and a look at a target's files without one."""

import json
from pathlib import Path

import pytest
from called import openrecipes

from openrecipes.targets.shipped_profiles import shipped_profiles

NAME = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
SMOKE = "qwen3.5-moe-mini/cpu/smoke-dp2"
EXAMPLES = {"slurm": "slurm-p5en", "ssh": "ssh-p5en", "kubernetes": "eks-p5en"}


def hashed(*words: str, folder: Path) -> str:
    """The render_sha256 of what `words` would launch."""
    done = openrecipes(*words, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["render_sha256"])


@pytest.mark.parametrize(("target", "name"), EXAMPLES.items())
def test_a_render_without_a_profile_is_that_of_the_shipped_one_with_the_recipes_gpu(
    target: str, name: str, tmp_path: Path
) -> None:
    done = openrecipes("render", NAME, "--target", target, "--json", folder=tmp_path)
    file = shipped_profiles()[name]
    assert done.returncode == 0
    assert f"no --cluster: this is for the shipped profile {name}, whose paths, hosts and image are ex" in done.stderr
    assert f"give your own with --cluster FILE, as from a copy of {file}" in done.stderr
    named = hashed("render", NAME, "--cluster", name, folder=tmp_path)
    assert json.loads(done.stdout)["render_sha256"] == named
    assert named == hashed("render", NAME, "--cluster", str(file), folder=tmp_path)


@pytest.mark.parametrize("target", ["slurm", "kubernetes"])
def test_a_dry_run_takes_it_too_and_asks_no_scheduler_for_it(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for program in ("sbatch", "sinfo", "kubectl"):
        (tmp_path / "bin" / program).write_text(f"#!/bin/sh\ntouch '{tmp_path}/asked'\n")
        (tmp_path / "bin" / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    done = openrecipes("launch", NAME, "--target", target, "--dry-run", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"the shipped profile {EXAMPLES[target]}," in done.stderr
    rendered = hashed("render", NAME, "--cluster", EXAMPLES[target], folder=tmp_path)
    assert json.loads(done.stdout)["render_sha256"] == rendered
    assert not (tmp_path / "asked").exists()


def test_a_setting_of_the_gpu_chooses_the_profile(tmp_path: Path) -> None:
    done = openrecipes("render", NAME, "--target", "slurm", "--set", "gpu.type=H100", folder=tmp_path)
    assert done.returncode == 0
    assert "the shipped profile slurm-p5," in done.stderr


@pytest.mark.parametrize("more", [(SMOKE, "--target", "ssh"), (NAME, "--target", "ssh", "--set", "gpu.type=H100")])
def test_where_no_shipped_profile_has_the_gpu_the_refusal_names_those_there_are(more: tuple[str, ...]) -> None:
    done = openrecipes("render", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--target: ssh, but no shipped profile of it has" in done.stderr
    assert "ssh-p5en (H200)" in done.stderr


@pytest.mark.parametrize("verb", ["launch", "run"])
def test_a_real_run_needs_a_profile(verb: str, tmp_path: Path) -> None:
    done = openrecipes(verb, NAME, "--target", "slurm", "--yes", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--target: slurm, and no cluster profile says where that is" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("render", NAME),
        ("launch", NAME, "--dry-run"),
        ("run", NAME),
        ("preflight",),
        ("checkpoint", "prepare", NAME),
        ("checkpoint", "verify", NAME),
    ],
)
def test_a_name_that_is_none_is_told_with_the_nearest(words: tuple[str, ...], tmp_path: Path) -> None:
    done = openrecipes(*words, "--cluster", "slurm-p5em", folder=tmp_path)
    assert done.returncode == 2
    assert (
        "slurm-p5em: there is no such file, and no shipped profile of that name\n  mend: did you mean slurm-p5en?"
        in (done.stderr)
    )


def test_a_file_of_a_shipped_profiles_name_is_taken_before_it_and_a_folder_is_not(tmp_path: Path) -> None:
    (tmp_path / "slurm-p5en").mkdir()
    assert openrecipes("render", NAME, "--cluster", "slurm-p5en", folder=tmp_path).returncode == 0
    (tmp_path / "ssh-p5en").write_text("target: ssh\n")
    done = openrecipes("render", NAME, "--cluster", "ssh-p5en", folder=tmp_path)
    assert done.returncode == 1
    assert "ssh-p5en:1:schema_version: " in done.stderr
    done = openrecipes("render", NAME, "--cluster", str(tmp_path), folder=tmp_path)
    assert (done.returncode, "is a folder" in done.stderr) == (2, True)
