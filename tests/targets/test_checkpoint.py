"""What a checkpoint's folder must hold, as far as its files say."""

import json
from pathlib import Path

import pytest

from openrecipes.catalog.models import model
from openrecipes.targets.checkpoint import FILES, MANIFEST, checkpoint_problems, manifest, read_manifest

SMALL = "Qwen3.5-MoE-small"


def whole(folder: Path) -> Path:
    (folder / "release").mkdir(parents=True)
    (folder / "release" / "__0_0.distcp").write_bytes(b"12345")
    (folder / "release" / ".metadata").write_bytes(b"index")
    (folder / "latest_checkpointed_iteration.txt").write_text("release")
    (folder / MANIFEST).write_text(json.dumps(manifest(model(SMALL), "random")))
    (folder / FILES).write_text(json.dumps({"files": {"release/__0_0.distcp": 5, "release/.metadata": 5}}))
    return folder


def rules(folder: Path, name: str = SMALL) -> list[str]:
    return [problem.rule for problem in checkpoint_problems(model(name), folder)]


def test_a_whole_checkpoint_of_the_model_has_no_problem(tmp_path: Path) -> None:
    assert rules(whole(tmp_path / "dist")) == []


def test_one_of_a_trainers_own_step_is_as_good(tmp_path: Path) -> None:
    folder = whole(tmp_path / "dist")
    (folder / "release").rename(folder / "iter_0000040")
    (folder / "latest_checkpointed_iteration.txt").write_text("40")
    (folder / FILES).unlink()
    assert rules(folder) == []


def test_another_models_checkpoint_is_told(tmp_path: Path) -> None:
    assert rules(whole(tmp_path / "dist"), "Qwen3.5-MoE-mini") == ["checkpoint-model"]


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda folder: (folder / "latest_checkpointed_iteration.txt").unlink(), ["checkpoint-tracker"]),
        (
            lambda folder: (folder / "latest_checkpointed_iteration.txt").write_text("../elsewhere"),
            ["checkpoint-tracker"],
        ),
        (
            lambda folder: (folder / "release" / "__0_0.distcp").unlink(),
            ["checkpoint-shards", "checkpoint-files"],
        ),
        (lambda folder: (folder / "release" / "__0_0.distcp").write_bytes(b"1"), ["checkpoint-files"]),
        (lambda folder: (folder / MANIFEST).write_text("[" * 100_000), []),
        (lambda folder: (folder / FILES).write_text('{"files": {"../../etc/passwd": 5, "x": "y"}}'), []),
    ],
)
def test_a_folder_that_is_no_whole_checkpoint_is_told(tmp_path: Path, spoil, rule: list[str]) -> None:
    folder = whole(tmp_path / "dist")
    spoil(folder)
    assert rules(folder) == rule


def test_a_path_without_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert rules(tmp_path / "none") == rules(tmp_path / "file") == ["checkpoint-there"]


def test_a_folder_that_may_not_be_read_is_a_problem_and_no_bug(tmp_path: Path, monkeypatch) -> None:
    def denied(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    found = model(SMALL)
    monkeypatch.setattr(Path, "is_dir", denied)
    (problem,) = checkpoint_problems(found, tmp_path / "dist")
    assert (problem.rule, problem.what) == ("checkpoint-readable", "cannot be read: Permission denied")


def test_a_manifest_names_the_model_and_where_its_weights_are_from(tmp_path: Path) -> None:
    assert manifest(model(SMALL), "converted")["weights"] == "pretrained"
    said = read_manifest(whole(tmp_path / "dist"))
    assert said == {
        "schema_version": 1,
        "model": SMALL,
        "kind": "random",
        "weights": "random",
        "config_sha256": manifest(model(SMALL), "random")["config_sha256"],
        "params": 748_976_096,
    }
