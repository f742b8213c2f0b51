"""The verb `preflight`: a report of every node, and an exit status that can block."""

import json
from pathlib import Path

import pytest
from called import Called, openrecipes

from openrecipes.shipped import shipped


def _run(*words: str) -> Called:
    return openrecipes("preflight", *words)


def test_the_smoke_recipe_passes_here_and_the_json_is_one_document() -> None:
    ran = _run("--recipe", "qwen3.5-moe-mini/cpu/smoke-dp2", "--json")
    document = json.loads(ran.stdout)
    assert ran.returncode == 0, ran.stderr
    assert len(document["nodes"]) == 1
    assert all(problem["severity"] == "warning" for problem in document["problems"])


def test_a_node_that_does_not_fit_the_recipe_ends_with_1(tmp_path: Path) -> None:
    profile = tmp_path / "here.yaml"
    text = "schema_version: 1\nname: here\ntarget: local\n"
    profile.write_text(text, encoding="utf-8")
    ran = _run("--cluster", str(profile), "--recipe", "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32", "--json")
    assert ran.returncode == 1
    rules = {problem["rule"] for problem in json.loads(ran.stdout)["problems"]}
    assert {"preflight-gpu", "preflight-version", "preflight-nodes"} <= rules
    assert "mend:" in ran.stderr


def test_what_cannot_be_looked_at_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    profile = tmp_path / "there.yaml"
    text = "schema_version: 1\nname: there\ntarget: ssh\ngpu: {type: H100}\nssh: {hosts: [no-such-host]}\n"
    profile.write_text(text, encoding="utf-8")
    ran = _run("--cluster", str(profile), "--recipe", "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"{profile}:4:gpu.type: H100 GPUs, but the recipe is for H200" in ran.stderr


def test_an_interpreter_that_is_missing_here_is_a_failed_check_at_the_profiles_line(tmp_path: Path) -> None:
    profile = tmp_path / "here.yaml"
    profile.write_text("schema_version: 1\nname: here\ntarget: local\npython: /no/python\n", encoding="utf-8")
    ran = _run("--cluster", str(profile), "--json")
    assert ran.returncode == 1
    document = json.loads(ran.stdout)
    (node,) = document["nodes"]
    assert [(check["name"], check["status"]) for check in node["checks"]] == [("python", "fail")]
    (problem,) = document["problems"]
    assert (problem["file"], problem["line"], problem["key"]) == (str(profile), 4, "python")
    assert problem["what"].startswith("/no/python cannot be started: No such file or directory, on the node ")


PROFILES = {
    # nobody answers; no node is reached from here; no sound profile
    "schema_version: 1\nname: there\ntarget: slurm\n": 3,
    (shipped("launch", "clusters") / "eks-p5en.yaml").read_text(encoding="utf-8").replace("0" * 64, "ab" * 32): 2,
    "schema_version: 1\nname: there\ntarget: ssh\nssh: {hosts: []}\n": 1,
}


@pytest.mark.parametrize(("text", "status"), PROFILES.items(), ids=map(str, PROFILES.values()))
def test_the_json_has_its_two_keys_where_no_node_was_reached_too(
    text: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "there.yaml").write_text(text, encoding="utf-8")
    ran = _run("--cluster", str(tmp_path / "there.yaml"), "--json")
    document = json.loads(ran.stdout)
    assert list(document) == ["nodes", "problems"]
    assert (ran.returncode, document["nodes"]) == (status, [])
    assert document["problems"]


def test_values_are_said_in_words() -> None:
    ran = _run("--recipe", "qwen3.5-moe-mini/cpu/smoke-dp2")
    assert ran.returncode == 0, ran.stderr
    assert "distributions " in ran.stdout
    assert not set("[]{}'") & set(ran.stdout)
