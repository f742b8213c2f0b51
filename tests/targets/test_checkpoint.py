"""The preparation of a checkpoint: its script, and what its folder must hold."""

import json
import subprocess
from pathlib import Path

import pytest

from openrecipes.catalog.models import model
from openrecipes.problems import ProblemsError
from openrecipes.targets.checkpoint import MANIFEST, checkpoint_problems, manifest, rendered_checkpoint
from openrecipes.targets.profile import Paths, Profile
from openrecipes.targets.submit import write_rendered

SMALL = "Qwen3.5-MoE-small"

# Stands in for torchrun: saves what a converter saves where --save says, or fails as STATUS says.
PYTHON = """#!/bin/bash
[ "${STATUS:-0}" = 0 ] || exit "$STATUS"
for word; do if [ "$last" = --save ]; then save=$word; fi; last=$word; done
printf '%s\\n' "$@" >"$(dirname "$save")/argv"
mkdir "$save/release" && echo release >"$save/latest_checkpointed_iteration.txt"
: >"$save/release/.metadata"; : >"$save/release/__0_0.distcp"
"""


def profile(folder: Path, **env: str) -> Profile:
    for name in ("slime", "megatron"):
        (folder / name).mkdir()
    python = folder / "python 3"
    python.write_text(PYTHON)
    python.chmod(0o755)
    paths = Paths(
        slime=str(folder / "slime"),
        megatron=str(folder / "megatron"),
        hf_checkpoint=str(folder / "hf $x"),
        torch_dist=str(folder / "dist"),
    )
    return Profile(schema_version=1, name="stage", target="local", python=str(python), paths=paths, env=env)


def prepared(folder: Path, site: Profile) -> int:
    rendered = rendered_checkpoint(model(SMALL), site, kind="random", gpus=1)
    write_rendered(rendered, folder / "files")
    return subprocess.run(["bash", str(folder / "files" / rendered.entry)], check=False).returncode


def test_a_random_checkpoint_says_so_and_is_the_models(tmp_path: Path) -> None:
    assert prepared(tmp_path, profile(tmp_path)) == 0
    said = json.loads((tmp_path / "dist" / MANIFEST).read_text())
    assert (said["weights"], said["model"], said["params"]) == ("random", SMALL, 748_976_096)
    assert list(checkpoint_problems(model(SMALL), tmp_path / "dist")) == []
    argv = (tmp_path / "argv").read_text().splitlines()
    assert argv[argv.index("--num-experts") + 1] == "32"
    assert argv[argv.index("--hf-checkpoint") + 1] == str(tmp_path / "hf $x")
    assert {file.name for file in (tmp_path / "hf $x").iterdir()} == {
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_another_models_checkpoint_is_told(tmp_path: Path) -> None:
    assert prepared(tmp_path, profile(tmp_path)) == 0
    [problem] = checkpoint_problems(model("Qwen3.5-MoE-mini"), tmp_path / "dist")
    assert problem.rule == "checkpoint-model"


def test_a_checkpoint_is_never_overwritten(tmp_path: Path) -> None:
    site = profile(tmp_path)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "mine").write_text("kept")
    assert prepared(tmp_path, site) == 1
    assert [file.name for file in (tmp_path / "dist").iterdir()] == ["mine"]


def test_a_failed_preparation_leaves_nothing_under_the_name(tmp_path: Path) -> None:
    assert prepared(tmp_path, profile(tmp_path, STATUS="7")) == 7
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda folder: (folder / "latest_checkpointed_iteration.txt").unlink(), "checkpoint-tracker"),
        (lambda folder: (folder / "release" / "__0_0.distcp").unlink(), "checkpoint-shards"),
    ],
)
def test_a_folder_that_is_no_checkpoint_is_told(tmp_path: Path, spoil, rule: str) -> None:
    assert prepared(tmp_path, profile(tmp_path)) == 0
    spoil(tmp_path / "dist")
    assert [problem.rule for problem in checkpoint_problems(model(SMALL), tmp_path / "dist")] == [rule]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert [problem.rule for problem in checkpoint_problems(model(SMALL), tmp_path / "none")] == ["checkpoint-there"]


def test_every_missing_path_is_named_at_once() -> None:
    with pytest.raises(ProblemsError) as told:
        rendered_checkpoint(model(SMALL), Profile(schema_version=1, name="x", target="local"), kind="random", gpus=1)
    assert [problem.place.key for problem in told.value.problems] == [
        "paths.slime",
        "paths.megatron",
        "paths.hf_checkpoint",
        "paths.torch_dist",
    ]


def test_a_manifest_names_the_model_and_where_its_weights_are_from() -> None:
    assert manifest(model(SMALL), "converted")["weights"] == "pretrained"


@pytest.mark.tool("shellcheck")
@pytest.mark.parametrize("kind", ["random", "converted"])
def test_shellcheck_finds_nothing(tmp_path: Path, kind) -> None:
    rendered = rendered_checkpoint(model(SMALL), profile(tmp_path), kind=kind, gpus=8)
    write_rendered(rendered, tmp_path / "files")
    subprocess.run(["shellcheck", str(tmp_path / "files" / rendered.entry)], check=True)
