"""Digests of the catalogue's files: what reading them comes to, and for no other bytes than theirs."""

import json
from pathlib import Path

import pytest

from openrecipes.catalog.data_files import CATALOG_FOLDER, digest_path, digested, file_digests, parse_yaml
from openrecipes.catalog.model_digest import digest_of
from openrecipes.catalog.models import MODEL_FOLDER, all_models, model, model_digests, model_from

FILES = sorted(MODEL_FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_digest_says_what_the_family_gives(file: Path) -> None:
    found, made = digest_of(file, file.read_bytes()), model_from(parse_yaml(file.read_text()))
    assert found is not None, "run `make docs`"
    assert (found["name"], found["model_type"]) == (made.name, made.entry.model_type)
    assert (found["shape"], found["active_params"]) == (made.shape, made.active_params)
    assert found["arguments"] == made.architecture_arguments()


def test_there_is_one_of_each_shipped_model_and_no_other() -> None:
    assert set(model_digests()) == {digest_path(file) for file in FILES} == set((MODEL_FOLDER / "digests").iterdir())
    assert len(FILES) >= 8


@pytest.mark.parametrize("name", ["gpus.yaml", "headlines.yaml", "prices.yaml"])
def test_a_digest_of_facts_says_what_the_file_says(name: str) -> None:
    file = CATALOG_FOLDER / name
    made = json.loads(json.dumps(parse_yaml(file.read_text()), default=str))
    assert digested(file, file.read_bytes()) == made, "run `make docs`"
    assert digest_path(file) in file_digests()


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    file = FILES[0]
    assert digest_of(file, file.read_bytes() + b"\n") is None
    assert digest_of(tmp_path / file.name, file.read_bytes()) is None


def test_a_model_with_a_digest_still_has_its_entry_and_its_tensors() -> None:
    found = model("Qwen3.5-397B-A17B")
    assert found.digest is not None
    assert found.entry.name == found.name
    assert sum(tensor.active_count for tensor in found.tensors) == found.active_params
    assert found in all_models()
