import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from model_configs import EVERY_FAMILY, changed

from openrecipes.catalog.adding import Added, add_model
from openrecipes.catalog.models import all_models, find_model, hf_config, model, own_model_folder
from openrecipes.problems import ProblemsError, UsageError

TODAY = date(2026, 11, 30)


@pytest.fixture
def own_folder() -> Path:
    return own_model_folder()


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def add(path: Path, **options: Any) -> Added:
    return add_model(path, today=TODAY, **options)


def test_an_added_model_is_in_the_catalogue(tmp_path: Path, own_folder: Path) -> None:
    config = write(tmp_path / "config.json", EVERY_FAMILY["qwen3_5_moe"])
    added = add(config, name="Tiny-A1B", source="https://example.org/tiny", revision="abc")
    assert added.path == own_folder / "tiny-a1b.yaml"
    found = model("tiny-a1b")
    assert found.name == "Tiny-A1B"
    assert (found.params, found.active_params) == (added.model.params, added.model.active_params)
    assert (found.entry.source, found.entry.revision, found.entry.retrieved) == (
        "https://example.org/tiny",
        "abc",
        TODAY,
    )
    assert found.entry.not_counted == ("vision encoder", "multi-token prediction (mtp_num_hidden_layers: 1)")
    assert found in all_models()


def test_every_family_survives_the_file(tmp_path: Path) -> None:
    for family, document in EVERY_FAMILY.items():
        added = add(write(tmp_path / family / "config.json", document), name=f"tiny-{family}")
        assert model(f"tiny-{family}").tensors == added.model.tensors
        assert hf_config(model(f"tiny-{family}")) == hf_config(added.model)
    assert len(EVERY_FAMILY) == 8


@pytest.mark.parametrize(
    ("path", "changes", "name"),
    [
        ("Qwen3-Tiny/config.json", {}, "Qwen3-Tiny"),
        ("models--Qwen--Qwen3-Tiny/snapshots/abc123/config.json", {}, "Qwen3-Tiny"),
        ("x/qwen3-tiny-config.json", {}, "qwen3-tiny"),
        ("x/config.json", {"_name_or_path": "/data/models/Qwen3-Tiny"}, "Qwen3-Tiny"),
        ("x/config.json", {"_name_or_path": ""}, "x"),
    ],
)
def test_a_model_is_named_after_its_file(tmp_path: Path, path: str, changes: dict[str, Any], name: str) -> None:
    assert add(write(tmp_path / path, changed("qwen3", **changes))).model.name == name


def test_a_model_that_is_there_already_is_not_written_again(tmp_path: Path, own_folder: Path) -> None:
    config = write(tmp_path / "config.json", hf_config(model("Qwen3-32B")))
    added = add(config, name="qwen3-32b")
    assert added.path is None
    assert added.model is model("Qwen3-32B")
    assert not own_folder.exists()


def test_another_model_of_the_same_name_is_refused(tmp_path: Path, own_folder: Path) -> None:
    config = write(tmp_path / "config.json", {**hf_config(model("Qwen3-32B")), "num_hidden_layers": 65})
    with pytest.raises(ProblemsError, match="num_hidden_layers 65 against 64"):
        add(config, name="Qwen3-32B")
    with pytest.raises(ProblemsError, match="num_hidden_layers 65 against 64"):
        add(config, name="Qwen3-32B", replace=True)
    assert not own_folder.exists()


def test_an_added_model_is_replaced_only_when_asked(tmp_path: Path) -> None:
    first = write(tmp_path / "1.json", changed("qwen3"))
    second = write(tmp_path / "2.json", changed("qwen3", num_hidden_layers=7))
    add(first, name="tiny")
    with pytest.raises(ProblemsError, match="--replace"):
        add(second, name="tiny")
    assert len(model("tiny").shape.layers) == 5
    add(second, name="tiny", replace=True)
    assert len(model("tiny").shape.layers) == 7


def test_a_folder_of_choice_takes_the_entry(tmp_path: Path, own_folder: Path) -> None:
    config = write(tmp_path / "config.json", EVERY_FAMILY["llama"])
    assert add(config, name="tiny", folder=tmp_path / "here").path == tmp_path / "here" / "tiny.yaml"
    assert not own_folder.exists()
    assert find_model("tiny") is None


def test_bad_input_is_a_problem_and_writes_nothing(tmp_path: Path, own_folder: Path) -> None:
    with pytest.raises(UsageError):
        add(tmp_path / "missing.json")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(ProblemsError, match="not UTF-8"):
        add(tmp_path / "latin.json")
    with pytest.raises(UsageError, match="--name"):
        add(write(tmp_path / "config.json", changed("qwen3")), name="../escape")
    with pytest.raises(ProblemsError, match="hidden_size: is missing"):
        add(write(tmp_path / "config.json", changed("qwen3", hidden_size=None)), name="tiny")
    assert not own_folder.exists()


def test_a_folder_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written"):
        add(write(tmp_path / "config.json", changed("qwen3")), name="tiny", folder=tmp_path / "file")


@pytest.mark.parametrize("text", ["name: broken", "{", "- 1", "name: [", "\x00"])
def test_a_spoilt_entry_is_a_problem_with_its_file(own_folder: Path, text: str) -> None:
    own_folder.mkdir()
    (own_folder / "broken.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ProblemsError, match=r"broken\.yaml"):
        model("broken")


def test_an_added_model_never_hides_a_shipped_one(own_folder: Path) -> None:
    own_folder.mkdir()
    (own_folder / "qwen3-32b.yaml").write_text("name: broken", encoding="utf-8")
    assert model("Qwen3-32B").params == 32_762_123_264
    with pytest.raises(UsageError, match="use Qwen3-32B"):
        model("Qwen3-33B")
