"""Paths that mean nothing on a profile's nodes: relative ones, and those that its container does not see."""

from pathlib import Path

import pytest
import yaml
from called import openrecipes

from openrecipes.shipped import shipped

RECIPE = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
KEYS = ("paths.hf_checkpoint", "paths.sft_data", "paths.torch_dist")
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
SITES = ("slurm-p5en", "ssh-p5en", "eks-p5en")


def profile(folder: Path, name: str, *, elsewhere: bool = False, **paths: str) -> str:
    said = yaml.safe_load(shipped("launch", "clusters", f"{name}.yaml").read_text().replace("0" * 64, DIGEST))
    said["paths"] |= paths
    said.pop("secrets", None)
    if elsewhere and "container" in said:
        said["container"]["mounts"] = [{"source": "/scratch"}, {"source": "/fsx2", "target": "/fs"}]
    elif elsewhere:
        said["kubernetes"]["volumes"][0]["mount_path"] = "/scratch"
    path = folder / "site.yaml"
    path.write_text(yaml.safe_dump(said, sort_keys=False))
    return str(path)


@pytest.mark.parametrize("name", SITES)
def test_a_path_on_no_mount_is_told_by_a_check_and_refused_by_a_launch(name: str, tmp_path: Path) -> None:
    file = profile(tmp_path, name, elsewhere=True)
    checked = openrecipes("check", file)
    assert checked.returncode == 0
    told = [line for line in checked.stdout.splitlines() if "lies below no mount" in line]
    assert sorted(line.split(":")[2] for line in told) == list(KEYS)
    dry = openrecipes("launch", RECIPE, "--cluster", file, "--dry-run", folder=tmp_path)
    assert dry.returncode == 1
    assert all(f"{key}: /fsx/" in dry.stderr for key in KEYS)


@pytest.mark.parametrize("name", SITES)
def test_mounted_paths_are_fine(name: str, tmp_path: Path) -> None:
    file = profile(tmp_path, name)
    assert "target-mounted" not in openrecipes("check", file).stdout
    dry = openrecipes("launch", RECIPE, "--cluster", file, "--dry-run", folder=tmp_path)
    assert (dry.returncode, "target-mounted" in dry.stderr) == (0, False)


def test_a_path_counts_as_the_container_has_it(tmp_path: Path) -> None:
    inside = {key.partition(".")[2]: "/fs/x" for key in KEYS}
    assert "lies below" not in openrecipes("check", profile(tmp_path, "ssh-p5en", elsewhere=True, **inside)).stdout
    on_the_host = dict.fromkeys(inside, "/fsx2/x")
    assert "lies below" in openrecipes("check", profile(tmp_path, "ssh-p5en", elsewhere=True, **on_the_host)).stdout
    climbing = dict.fromkeys(inside, "/fs/../x")
    assert "lies below" in openrecipes("check", profile(tmp_path, "ssh-p5en", elsewhere=True, **climbing)).stdout


def test_what_a_recipe_does_not_read_need_not_be_mounted(tmp_path: Path) -> None:
    file = profile(tmp_path, "slurm-p5en", sft_data="/fsx/rows.parquet", hf_checkpoint="/else/where")
    done = openrecipes("launch", "qwen3.5-moe-mini/cpu/smoke-dp2", "--cluster", file, "--dry-run", folder=tmp_path)
    assert "/else/where" not in done.stderr


@pytest.mark.parametrize("name", [*SITES, "slurm-bare"])
def test_a_relative_path_fails_the_check_as_it_fails_a_launch(name: str, tmp_path: Path) -> None:
    file = profile(tmp_path, name, torch_dist="relative/path")
    done = openrecipes("check", file)
    assert done.returncode == 1
    assert ":paths.torch_dist: relative/path means another place on every node" in done.stdout
    assert openrecipes("launch", RECIPE, "--cluster", file, "--dry-run", folder=tmp_path).returncode == 1
