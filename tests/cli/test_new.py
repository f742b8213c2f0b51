import json
from pathlib import Path

import pytest
from called import Called, openrecipes

SOURCE = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"


def _openrecipes(folder: Path, *words: str) -> Called:
    return openrecipes(*words, folder=folder)


def test_a_new_recipe_is_made_where_its_short_name_says_and_can_be_checked_and_built_on(tmp_path: Path) -> None:
    name = "qwen3.5-397b-a17b/h200/me-tp4-pp4-ep32"
    made = _openrecipes(tmp_path, "new", name, "--from", SOURCE, "--author", "me", "--set", "layout.tp=4", "--json")
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)
    assert found["file"] == f"recipes/{name}.yaml"
    assert found["recipe"]["layout"]["dp"] == 8
    assert found["derived"]["layout.dp"].startswith("derived")
    assert _openrecipes(tmp_path, "check").returncode == 0
    again = _openrecipes(tmp_path, "new", name, "--from", SOURCE, "--author", "me")
    assert again.returncode == 2
    assert "is there already" in again.stderr
    second = "qwen3.5-397b-a17b/h200/me-tp2-pp2-ep32"
    built = _openrecipes(tmp_path, "new", second, "--from", SOURCE, "--author", "me", "--set", "layout.pp=2")
    assert built.returncode == 0, built.stderr


def test_another_author_does_not_inherit_the_page_of_the_first(tmp_path: Path) -> None:
    name = "qwen3.5-397b-a17b/h200/me-tp4-pp4-ep32"
    words = ("new", name, "--from", SOURCE, "--author", "me", "--set", "layout.tp=4", "--json")
    made = json.loads(_openrecipes(tmp_path, *words).stdout)
    assert made["recipe"]["author"] == {"name": "me", "url": None}
    told = json.loads(_openrecipes(tmp_path, *words[:1], f"{name}-b", *words[2:], "--author-url", "https://me").stdout)
    assert told["recipe"]["author"] == {"name": "me", "url": "https://me"}
    own = ("new", "qwen3.5-397b-a17b/h200/attune-tp4-pp4-ep32", "--from", SOURCE, "--set", "layout.tp=4", "--json")
    kept = json.loads(_openrecipes(tmp_path, *own).stdout)
    assert kept["recipe"]["author"] == {"name": "ATTUNE", "url": "https://arxiv.org/abs/2610.17528"}


@pytest.mark.parametrize("words", [("", "--from", SOURCE), ("a/", "--from", SOURCE), ("a/b/c", "--from", "nosuch")])
def test_a_name_that_means_nothing_is_wrong_usage(tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = _openrecipes(tmp_path, "new", *words)
    assert ran.returncode == 2
    assert "mend:" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_made_is_an_outside_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = _openrecipes(tmp_path, "new", "file/x.yaml", "--from", SOURCE)
    assert ran.returncode in (2, 3)
    assert "Traceback" not in ran.stderr


def test_a_name_that_does_not_fit_is_refused_in_words_that_hold_before_there_is_a_file(tmp_path: Path) -> None:
    refused = _openrecipes(tmp_path, "new", "my/b200/x-tp8", "--from", SOURCE, "--json")
    found = {problem["rule"]: problem for problem in json.loads(refused.stdout)["problems"]}
    assert {"path-model", "path-gpu", "path-author", "path-layout"} <= found.keys()
    assert found["path-model"]["mend"] == "put it in recipes/qwen3.5-397b-a17b/, or change model"
    for problem in found.values():
        assert not any(word in problem["what"] + problem["mend"] for word in ("move", "rename", "lies in"))
    assert not (tmp_path / "recipes").exists()
