"""`openrecipes check`: what it lints of a folder, and what it leaves to others."""

import json
import os
import shutil
from pathlib import Path

import pytest
from called import ROOT, openrecipes

GOOD = ROOT / "recipes/qwen3-32b/h200/openrecipes-tp2-pp4.yaml"
MANIFEST = "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: a}\nspec: {}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a recipe, a cluster profile, a manifest, and a library."""
    shutil.copy(GOOD, tmp_path / "one.yaml")
    shutil.copy(ROOT / "launch/clusters/slurm-p5en.yaml", tmp_path)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/rayjob.yaml").write_text(MANIFEST)
    library = tmp_path / "recipes/qwen3-32b/h200"
    library.mkdir(parents=True)
    shutil.copy(GOOD, library)
    return tmp_path


def files_of(*words: str, folder: Path) -> tuple[int, int, set[str]]:
    """Exit status, number of files, and the files with an error."""
    done = openrecipes("check", *words, "--json", folder=folder)
    document = json.loads(done.stdout)
    errors = {problem["file"] for problem in document["problems"] if problem["severity"] == "error"}
    return done.returncode, document["files"], errors


def test_other_yaml_in_a_folder_is_left_out_and_counted(folder: Path) -> None:
    assert files_of(".", folder=folder) == (0, 3, set())
    said = openrecipes("check", ".", folder=folder).stderr
    assert said == "1 YAML file in the folders left out: no recipe, no cluster profile\n"


def test_a_named_file_is_linted_whatever_it_holds(folder: Path) -> None:
    assert files_of("manifests/rayjob.yaml", folder=folder) == (1, 1, {"manifests/rayjob.yaml"})


def test_every_file_of_a_library_is_linted(folder: Path) -> None:
    name = "recipes/qwen3-32b/h200/empty-tp2.yaml"
    (folder / name).write_text("")
    assert files_of(".", folder=folder) == (1, 4, {name})


@pytest.mark.parametrize("text", ["layout: {tp: 2}\n", "model: a\ngpu:\n  type: [\n"])
def test_a_file_half_written_is_a_recipe(folder: Path, text: str) -> None:
    (folder / "half.yaml").write_text(text)
    assert files_of(".", folder=folder) == (1, 4, {"half.yaml"})


def test_a_folder_of_other_yaml_alone_is_a_mistake(folder: Path) -> None:
    assert files_of("manifests", folder=folder) == (2, 0, {"manifests"})


@pytest.mark.parametrize("file", ["recipes/qwen3-32b/h200/openrecipes-tp2-pp4.yaml", "launch/clusters/slurm-p5en.yaml"])
def test_a_file_can_come_through_a_pipe(file: str, tmp_path: Path) -> None:
    end, start = os.pipe()
    os.write(start, (ROOT / file).read_bytes())
    os.close(start)
    assert files_of(f"/dev/fd/{end}", folder=tmp_path) == (0, 1, set())
    os.close(end)
