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


@pytest.mark.parametrize(
    "name",
    ["../../../etc/x", "../a/b", "a/../b", "/a/b", "//a/b", "a//b/c", "./a/b/c", "justname", "a/b/c/d", "a/b/.c"],
)
def test_a_short_name_never_leads_out_of_the_recipes(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    ran = _openrecipes(folder, "new", name, "--from", SOURCE)
    assert ran.returncode == 2
    assert "MODEL/GPU/AUTHOR-LAYOUT" in ran.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_path_may_lie_anywhere_when_it_ends_as_a_recipe(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    made = _openrecipes(tmp_path / "below", "new", "../x.yaml", "--from", SOURCE)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "x.yaml").is_file()


def test_what_the_author_s_options_set_is_told_as_theirs(tmp_path: Path) -> None:
    words = ("new", "x.yaml", "--from", SOURCE, "--author", "me", "--author-url", "https://me")
    made = _openrecipes(tmp_path, *words)
    assert "me (--author; the recipe has ATTUNE)" in made.stdout
    assert "https://me (--author-url; the recipe has" in made.stdout
    twice = _openrecipes(tmp_path, "new", "y.yaml", "--from", SOURCE, "--author", "me", "--set", "author.name=you")
    assert twice.returncode == 2
    assert "is set to you and to me" in twice.stderr


def test_a_refused_recipe_is_told_as_not_written_and_without_lines(tmp_path: Path) -> None:
    name = "qwen3.5-397b-a17b/h200/me-tp2-pp4-ep32"
    ran = _openrecipes(tmp_path, "new", name, "--from", SOURCE, "--author", "me", "--set", "layout.tp=4", "--json")
    assert ran.returncode == 1
    problems = json.loads(ran.stdout)["problems"]
    assert {(one["file"], one["line"]) for one in problems} == {(f"recipes/{name}.yaml (not written)", None)}
    assert list(tmp_path.iterdir()) == []


def test_a_network_of_another_number_of_gpus_is_told(tmp_path: Path) -> None:
    source = "qwen3.5-35b-a3b/h200/openrecipes-gb64-tp1-ep8"
    made = _openrecipes(tmp_path, "new", "x.yaml", "--from", source, "--set", "gpu.count=16", "--json")
    assert made.returncode == 0, made.stderr
    told = [one["what"] for one in json.loads(made.stdout)["problems"] if one["key"] == "stack.network"]
    assert told == ['"8 GPUs in one node", but gpu.count is 16']
